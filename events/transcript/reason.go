package transcript

// The codes of marker.ignored and transcript.damaged. They are stored in logs: add to them, never change one. The table
// in the package documentation says what each means.
const (
	reasonFenced     = "fenced"
	reasonQuoted     = "quoted"
	reasonComment    = "comment"
	reasonInlineCode = "inline_code"
	reasonEscaped    = "escaped"
	reasonNested     = "nested"
	reasonBadTag     = "bad_tag"
	reasonUnclosed   = "unclosed"
	reasonMid        = "mid_sentence"
	reasonOversize   = "oversize"
	reasonMalformed  = "malformed"
	reasonDuplicate  = "duplicate_key"
	reasonShape      = "wrong_shape"
	reasonForbidden  = "forbidden_kind"
	reasonNoEvidence = "confirmed_without_evidence"

	reasonThinking    = "thinking"
	reasonToolInput   = "tool_input"
	reasonToolOutput  = "tool_output"
	reasonUserText    = "user_text"
	reasonSidechain   = "sidechain"
	reasonMeta        = "meta"
	reasonCompaction  = "compaction"
	reasonSynthetic   = "synthetic"
	reasonSystem      = "system"
	reasonOtherRecord = "other_record"
	reasonOtherBlock  = "other_block"

	damageTorn    = "torn"
	damageGlued   = "glued"
	damageNotJSON = "not_json"
	damageTooLong = "line_too_long"
)
