package badgerlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dalkkak/dkgraph/events"
)

// benchEntries makes n entries of 300 bytes.
func benchEntries(from uint64, n int) []events.Entry {
	es := make([]events.Entry, n)
	for i := range es {
		data := make([]byte, 300)
		sum := events.Sum(binary.BigEndian.AppendUint64(nil, from+uint64(i)))
		for at := 0; at < len(data); at += len(sum) { // half of it compresses
			copy(data[at:], sum[:len(sum)/2])
		}
		es[i] = events.Entry{Key: sum, Data: data}
	}
	return es
}

// BenchmarkAppend compares a commit with the least that a durable append can cost: one write to a file and one fdatasync.
// Both are done in turn, so that what else goes on at the disk hits both. The ratio is that of the medians.
func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 10, 100} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			dir := b.TempDir()
			log, err := Open(filepath.Join(dir, "log"))
			require.NoError(b, err)
			f, err := os.OpenFile(filepath.Join(dir, "plain"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			require.NoError(b, err)
			var ours, plain []time.Duration
			end := uint64(0)
			for b.Loop() {
				es := benchEntries(end, batch)
				start := time.Now()
				require.NoError(b, log.Append(b.Context(), end, es))
				ours = append(ours, time.Since(start))
				end += uint64(batch)
				start = time.Now()
				require.NoError(b, appendPlain(f, es))
				plain = append(plain, time.Since(start))
			}
			o, p := median(ours), median(plain)
			b.ReportMetric(float64(o.Microseconds()), "p50-µs")
			b.ReportMetric(float64(p.Microseconds()), "plain-p50-µs")
			b.ReportMetric(float64(o)/float64(p), "ratio")
			b.ReportMetric(float64(batch)/o.Seconds(), "events/s")
			require.NoError(b, log.Close())
			require.NoError(b, f.Close())
		})
	}
}

func appendPlain(f *os.File, es []events.Entry) error {
	var buf []byte
	for _, e := range es {
		buf = binary.BigEndian.AppendUint32(buf, crc32.Checksum(e.Data, castagnoli))
		buf = append(buf, e.Data...)
	}
	if _, err := f.Write(buf); err != nil {
		return err
	}
	return dataSync(f)
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// benchStore makes a closed store of n entries.
func benchStore(b *testing.B, n int) string {
	dir := filepath.Join(b.TempDir(), "log")
	tune := defaultTuning()
	log, err := open(dir, Options{}, tune)
	require.NoError(b, err)
	for end := 0; end < n; end += 1000 {
		require.NoError(b, log.Append(b.Context(), uint64(end), benchEntries(uint64(end), 1000)))
	}
	require.NoError(b, log.Close())
	return dir
}

const benchSize = 500_000

func BenchmarkScan(b *testing.B) {
	log, err := Open(benchStore(b, benchSize))
	require.NoError(b, err)
	n := 0
	for b.Loop() {
		for _, err := range log.Read(b.Context(), 1) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	require.NoError(b, log.Close())
}

// BenchmarkGet reads single entries, as the log does to resolve a reference.
func BenchmarkGet(b *testing.B) {
	log, err := Open(benchStore(b, benchSize))
	require.NoError(b, err)
	for i := uint64(0); b.Loop(); i++ {
		for _, err := range log.Read(b.Context(), 1+i*7919%benchSize) {
			if err != nil {
				b.Fatal(err)
			}
			break
		}
	}
	require.NoError(b, log.Close())
}

// BenchmarkOpen opens a store that was closed, and one that was not: that one is rehearsed.
func BenchmarkOpen(b *testing.B) {
	dir := benchStore(b, benchSize)
	for _, clean := range []bool{true, false} {
		b.Run(fmt.Sprint("clean=", clean), func(b *testing.B) {
			for b.Loop() {
				if !clean {
					require.NoError(b, os.Remove(markPath(dir)))
				}
				log, err := Open(dir)
				require.NoError(b, err)
				b.StopTimer()
				require.NoError(b, log.Close())
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N)*1e6/benchSize, "ms/M-events")
		})
	}
}
