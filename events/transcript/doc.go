// Package transcript reads the transcripts of AI agents and drafts events from them: bytes in, drafts out.
//
// The reader never stops for its input and never makes anything up: a line it cannot use is skipped, counted and
// drafted as damage, and the next line is read; what is not clearly a marker in the assistant's own words is drafted as
// ignored, with the reason, so that a better parser can look again. A transcript is hostile input. Only a failing
// [io.Reader], or a file that is no transcript at all, is an error.
//
//	r := transcript.NewReader(file, transcript.Source{Path: file.Name(), Final: true})
//	for draft, err := range r.Drafts() {
//		…
//	}
//	fmt.Println(r.Stats().Markers)
//
// # Markers
//
// A marker is <dk-node>{…}</dk-node>, <dk-summary>{…}</dk-summary> or <dk-verify>{…}</dk-verify>. It counts when it
// stands in a text block of the assistant; when its tags are exactly these, lower case and without attributes; when
// strict JSON stands between them: one object of at most 64 KiB that may span lines, without duplicate keys at any
// depth, without lone surrogates; when it is outside of code (fenced or indented), inline code, block quotes and HTML
// comments, as CommonMark has them; and when its first tag is the first thing on its line or its last tag the last
// thing on its line. A bullet or a bold sign before the tag means that it is not first. White space does not count.
//
// Fields that are known must have the type they are known with; null is none of them. Fields that are not known are
// kept in the raw text and make no difference. Field names are case-sensitive.
//
// What looks like a marker, and is none, is drafted as marker.ignored with one of these reasons:
//
//	in the assistant's words
//	fenced                      in a fenced or indented code block
//	quoted                      in a block quote, or on a line that continues one
//	comment                     in an HTML comment
//	inline_code                 between backticks
//	escaped                     with a backslash before the tag
//	nested                      within another marker that is itself broken
//	bad_tag                     upper case, attributes, white space or invisible characters in the tag
//	unclosed                    no closing tag
//	mid_sentence                neither first nor last on its line
//	oversize                    over 64 KiB, or a field over its limit
//	malformed                   not one strict JSON object
//	duplicate_key               a key twice in one object
//	wrong_shape                 a field is missing, of another type, or not one of the allowed words
//	forbidden_kind              a node of a type that only the store writes
//	confirmed_without_evidence  a node that says confirmed and brings no evidence
//
//	elsewhere, whatever its form
//	thinking                    in the assistant's thinking
//	tool_input                  in what the assistant gave to a tool
//	tool_output                 in what a tool gave back
//	user_text                   in a prompt, typed or queued
//	sidechain                   in the words of a sub-agent
//	meta                        in a message the program put in the user's or the assistant's mouth
//	compaction                  in a summary of an earlier conversation
//	synthetic                   in an assistant message that no model wrote
//	system                      in a system record
//	other_record                in any other record
//	other_block                 in a content block of another type
//
// At most 64 ignored markers of a line and 1,000 of a transcript are drafted; the rest are counted.
//
// # Damage
//
// A line ends with 0x0A and nothing else; one 0x0D before it and NUL bytes around a record do not belong to it.
// A line that is not JSON is drafted as transcript.damaged with one of these codes:
//
//	torn           a piece of a record, then one or more whole records, which were used
//	glued          several whole records on one line, which were all used
//	not_json       nothing on the line could be used
//	line_too_long  over 64 MiB
//
// A later record is believed only where the broken one can be seen to end: where the grammar of JSON breaks at the
// start of the new one, or where what precedes it leaves no doubt that it is not a value within the broken record.
// At most 1,000 damaged lines of a transcript are drafted; the rest are counted.
//
// A last line without its line end may still be growing and is left alone, even when it is JSON, unless [Source] says
// that nobody writes to the transcript any more.
//
// # Concurrency
//
// A Reader is for one goroutine. [Scan] is a pure function.
package transcript
