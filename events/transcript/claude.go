package transcript

import "strings"

// claude reads Claude Code's transcripts. Each line is a record with a type, an open set; the messages of both sides
// are under "message". One message of the model is split over lines, one content block a line, all with the same
// message id, and forks of a session copy lines with the ids they had: so the message id is the turn.
type claude struct{}

func (claude) name() string { return "claude" }

func (claude) knows(rec members) bool {
	return rec.str("type") != "" && !rec.has("payload", "step_index") &&
		rec.has("message", "uuid", "parentUuid", "sessionId", "leafUuid", "messageId")
}

func (claude) entry(rec members, texts bool) entry {
	e := entry{
		session: label(rec.str("sessionId")),
		record:  label(rec.str("uuid")),
		version: label(rec.str("version")),
		cwd:     folder(rec.str("cwd")),
		at:      clock(rec.str("timestamp")),
	}
	if !texts {
		return e
	}
	message, _, _ := readMembers(rec.get("message"))
	if e.turn = label(message.str("id")); e.turn == "" {
		e.turn = e.record
	}
	e.texts = claudeTexts(rec, message)
	return e
}

// claudeTexts lists the texts of a record. What a tool gave back stands in the record twice, and is read once.
func claudeTexts(rec, message members) []passage {
	switch kind := rec.str("type"); {
	case message != nil && (kind == "assistant" || kind == "user"):
		return claudeBlocks(message.get("content"), claudeSpeaker(rec, message, kind))
	case kind == "summary":
		return oneText(rec.get("summary"), 0, reasonCompaction)
	case kind == "system":
		return oneText(rec.get("content"), 0, reasonSystem)
	case kind == "attachment", kind == "queue-operation":
		return allTexts(rec, reasonUserText)
	}
	return allTexts(rec, reasonOtherRecord)
}

// claudeSpeaker returns why the text of a message does not count; "" if the assistant says it.
func claudeSpeaker(rec, message members, kind string) string {
	role := message.get("role")
	switch {
	case rec.flag("isSidechain"):
		return reasonSidechain
	case rec.flag("isCompactSummary"), rec.flag("isVisibleInTranscriptOnly"):
		return reasonCompaction
	case rec.flag("isMeta"):
		return reasonMeta
	case kind == "user":
		return reasonUserText
	case rec.flag("isApiErrorMessage"), message.str("model") == "<synthetic>":
		return reasonSynthetic
	case role != nil && string(role) != `"assistant"`:
		return reasonOtherRecord
	}
	return ""
}

// claudeBlocks reads the content of a message, which is a string or a list of blocks.
func claudeBlocks(content []byte, speaker string) []passage {
	if len(content) > 0 && content[0] == '"' {
		return oneText(content, 0, speaker)
	}
	if len(content) == 0 || content[0] != '[' {
		return nil
	}
	var texts []passage
	n := 0
	skipArray(content, 0, lineLevels, func(v []byte) {
		if block, _, _ := readMembers(v); block != nil {
			texts = append(texts, claudeBlock(block, n, speaker)...)
		}
		n++
	})
	return texts
}

func claudeBlock(block members, n int, speaker string) []passage {
	kind := block.str("type")
	switch {
	case kind == "text":
		return oneText(block.get("text"), n, speaker)
	case speaker == reasonSidechain:
		return blockTexts(block, n, reasonSidechain)
	case kind == "thinking" || kind == "redacted_thinking":
		return oneText(block.get("thinking"), n, reasonThinking)
	case strings.HasSuffix(kind, "tool_use"):
		return blockTexts(block, n, reasonToolInput)
	case strings.HasSuffix(kind, "tool_result"):
		return blockTexts(block, n, reasonToolOutput)
	}
	return blockTexts(block, n, reasonOtherBlock)
}

// oneText is the passage that a string makes; none if value is something else.
func oneText(value []byte, block int, reason string) []passage {
	s, ok := unquote(value)
	if !ok {
		return nil
	}
	return []passage{{block: block, text: s, reason: reason}}
}

// allTexts takes every string of a record.
func allTexts(rec members, reason string) []passage { return blockTexts(rec, 0, reason) }

// blockTexts takes every string of a block that can hold a tag.
func blockTexts(block members, n int, reason string) []passage {
	var texts []passage
	for _, m := range block {
		eachString(m.value, func(s string) {
			if strings.Contains(s, "<") {
				texts = append(texts, passage{block: n, text: s, reason: reason})
			}
		})
	}
	return texts
}
