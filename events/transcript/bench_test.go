package transcript

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// benchTranscript is 1.4 MB in the proportions of a real session: tool output, for the most part, and little speech.
func benchTranscript() []byte {
	if path := os.Getenv("TRANSCRIPT_BENCH"); path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		return b
	}
	var b bytes.Buffer
	for i := 0; b.Len() < 1_400_000; i++ {
		id := fmt.Sprintf("%04d", i)
		b.Write(toolResultLine(id, strings.Repeat("12\tfunc main() {\n\t\tfmt.Println(\"x\")\n}\n", 90)))
		text := "Working on it. `go test` next.\n"
		if i%20 == 0 {
			text += verify(id)
		}
		b.Write(assistantLine(id, text))
	}
	return b.Bytes()
}

func BenchmarkReader(b *testing.B) {
	data := benchTranscript()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range NewReader(bytes.NewReader(data), Source{}).Drafts() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkScan(b *testing.B) {
	text := strings.Repeat("Some prose with `code` and a list:\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\n", 40) + verify("1")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if len(Scan(text)) != 1 {
			b.Fatal("marker not found")
		}
	}
}
