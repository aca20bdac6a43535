package projections_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// claudeSays makes a Claude Code transcript in which the assistant says each text in a message of its own.
func claudeSays(cwd string, texts ...string) string {
	var b strings.Builder
	for i, text := range texts {
		line, err := json.Marshal(map[string]any{
			"type": "assistant", "uuid": fmt.Sprintf("u%d", i), "sessionId": "s1", "cwd": cwd, "version": "2.0.69",
			"timestamp": fmt.Sprintf("2026-01-02T03:04:%02dZ", i),
			"message": map[string]any{
				"id": fmt.Sprintf("msg_%d", i), "role": "assistant", "model": "claude",
				"content": []any{map[string]any{"type": "text", "text": text}},
			},
		})
		if err != nil {
			panic(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}
