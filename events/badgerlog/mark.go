package badgerlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
)

// A mark says what a clean Close left in Badger's folder. A folder that is exactly as marked is opened without further
// ado; any other is rehearsed first. The mark is taken away, durably, before Badger is let in.
type mark struct {
	End      uint64    `json:"end"`
	Manifest fileSum   `json:"manifest"`
	Tables   []fileSum `json:"tables"`
}

// readMark returns the mark of dir. An unreadable one is as good as none: it only saves work.
func readMark(dir string) (mark, bool) {
	var m mark
	data, err := os.ReadFile(markPath(dir))
	if err != nil {
		return m, false
	}
	body, sum, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(bytes.TrimSpace(sum)) != sumLine(body) || json.Unmarshal(body, &m) != nil {
		return mark{}, false
	}
	return m, true
}

func sumLine(body []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) }

func (m mark) write(dir string) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replaceFile(markPath(dir), fmt.Appendf(body, "\n%s\n", sumLine(body)))
}

func (m mark) table(name string) (fileSum, bool) {
	i := slices.IndexFunc(m.Tables, func(f fileSum) bool { return f.Name == name })
	if i < 0 {
		return fileSum{}, false
	}
	return m.Tables[i], true
}
