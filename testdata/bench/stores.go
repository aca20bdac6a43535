// Package bench measures the event log beside a plain file, bbolt and SQLite. It is a module of its own, so that whoever
// uses the log does not get its rivals as dependencies.
//
//	go run ./table                        everything, in interleaved rounds, as one table
//	go test -bench Append -benchtime 1s   one benchmark
//
// An event is 300 bytes of payload, in every store. The rivals keep those bytes and no more, with the check that is
// usual for them (the file a CRC, the databases their own); the log adds its envelope, the hash chain, the tree and the
// index of origin keys, and is measured with them. Every append is durable when it returns.
//
// The folder of the stores is made in $TMPDIR. In a folder that is memory nothing is made durable, and the figures of
// appends say nothing.
package bench

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	_ "modernc.org/sqlite" // the driver that sql.Open finds

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/events/badgerlog"
)

// payloadBytes is the size of an event's payload.
const payloadBytes = 300

// An event is the same thing for the log, as a draft, and for the others, as bytes.
type event struct {
	draft events.Draft
	data  []byte
}

// newEvent makes the n-th event: a claim of payloadBytes.
func newEvent(n int) event {
	c := events.Claim{
		ClaimID: "c" + strconv.Itoa(n), Text: "the tests of this package pass", Kind: "test", Verify: "go test ./events/...",
		Raw: `{"id":"c` + strconv.Itoa(n) + `","claim":"the tests of this package pass"`,
	}
	bare, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	c.Raw += strings.Repeat(" ", payloadBytes-len(bare))
	e := event{}
	if e.data, err = json.Marshal(c); err != nil {
		panic(err)
	}
	seen := events.Seen{Agent: "claude", Turn: "msg_" + strconv.Itoa(n), At: time.UnixMilli(1764500000000).UTC()}
	if e.draft, err = events.ClaimMade(c, seen); err != nil {
		panic(err)
	}
	return e
}

// newEvents makes count events from the first on.
func newEvents(first, count int) []event {
	es := make([]event, count)
	for i := range es {
		es[i] = newEvent(first + i)
	}
	return es
}

// A store is one of those that are compared. Append makes a batch durable as one; it may be called concurrently. Scan
// reads all of it in order, checks what the store can check, and returns the number of events.
type store interface {
	Append(es []event) error
	Scan() (int, error)
	Close() error
}

// A maker opens the store of a kind that is in a folder, or makes it there.
type maker struct {
	name string
	open func(dir string) (store, error)
}

// makers are the stores in the order of the table. The file is the measure of the others.
var makers = []maker{
	{"file", openFile}, {"log", openLog}, {"bbolt", openBolt}, {"sqlite", openSQLite},
}

// logStore is the log on its own backend.
type logStore struct {
	backend *badgerlog.Backend
	log     *events.Log
}

func openLog(dir string) (store, error) {
	ctx := context.Background()
	b, err := badgerlog.Open(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	log, err := events.Open(ctx, b, events.Options{})
	if errors.Is(err, events.ErrEmptyLog) {
		var pub ed25519.PublicKey
		if pub, _, err = ed25519.GenerateKey(nil); err == nil {
			log, err = events.Create(ctx, b, events.NewOrigin(time.Now()), pub, events.Options{})
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &logStore{b, log}, nil
}

func (s *logStore) Append(es []event) error {
	drafts := make([]events.Draft, len(es))
	for i, e := range es {
		drafts[i] = e.draft
	}
	_, added, err := s.log.Append(context.Background(), drafts...)
	if err == nil && added != len(es) {
		err = fmt.Errorf("%d of %d were new", added, len(es))
	}
	return err
}

// Scan reads with every check of the log: number, hash, form, chain and seal.
func (s *logStore) Scan() (n int, err error) {
	for _, err := range s.log.Read(context.Background(), 2) { // the first event is the log's own
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// scanRaw reads what the backend keeps and checks numbers and hashes, and decodes nothing.
func (s *logStore) scanRaw() (n int, err error) {
	for e, err := range s.backend.Read(context.Background(), 2) {
		if err != nil {
			return n, err
		}
		n++
		line := e.Data[33+32*int(e.Data[32]):]
		if hash := events.LeafHash(line); e.Pos != uint64(n+1) || string(hash[:]) != string(e.Data[:32]) {
			return n, fmt.Errorf("event %d is not as it was", e.Pos)
		}
	}
	return n, nil
}

// scanPayloads is Scan and decodes the payloads too.
func (s *logStore) scanPayloads() (n int, err error) {
	for rec, err := range s.log.Read(context.Background(), 2) {
		if err == nil {
			_, err = events.Decode[events.Claim](rec)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (s *logStore) Close() error { return s.log.Close() }

// fileStore is a plain file: per event its length, its CRC and its bytes; per batch one write and one fdatasync.
type fileStore struct {
	mu  sync.Mutex // guards below
	f   *os.File
	buf []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openFile reads the file to its end: a plain file has no other way to know that its tail is whole.
func openFile(dir string) (store, error) {
	f, err := os.OpenFile(filepath.Join(dir, "events"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s := &fileStore{f: f}
	if _, err := s.Scan(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func (s *fileStore) Append(es []event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = s.buf[:0]
	for _, e := range es {
		s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(len(e.data)))
		s.buf = binary.LittleEndian.AppendUint32(s.buf, crc32.Checksum(e.data, castagnoli))
		s.buf = append(s.buf, e.data...)
	}
	if _, err := s.f.Write(s.buf); err != nil {
		return err
	}
	return dataSync(s.f)
}

func (s *fileStore) Scan() (n int, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(s.f, 0, 1<<62), 1<<18)
	var head [8]byte
	var data []byte
	for ; ; n++ {
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		data = append(data[:0], make([]byte, binary.LittleEndian.Uint32(head[:]))...)
		if _, err := io.ReadFull(in, data); err != nil {
			return n, err
		}
		if crc32.Checksum(data, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
			return n, fmt.Errorf("record %d is not as it was", n)
		}
	}
}

func (s *fileStore) Close() error { return s.f.Close() }

// boltStore is one bucket, with the number of the event as the key.
type boltStore struct {
	db     *bbolt.DB
	commit func(func(*bbolt.Tx) error) error // Update; Batch, its group commit, when there are many appenders
}

var bucket = []byte("events")

func openBolt(dir string) (store, error) {
	db, err := bbolt.Open(filepath.Join(dir, "events.bolt"), 0o600, nil)
	if err != nil {
		return nil, err
	}
	db.MaxBatchDelay = time.Millisecond // by default Batch waits 10 ms for more, and that would be what is measured
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	return &boltStore{db, db.Update}, err
}

func (s *boltStore) Append(es []event) error {
	return s.commit(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		b.FillPercent = 1 // keys only grow
		for _, e := range es {
			seq, err := b.NextSequence()
			if err == nil {
				err = b.Put(binary.BigEndian.AppendUint64(nil, seq), e.data)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *boltStore) Scan() (n int, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(v) == 0 {
				return fmt.Errorf("event %x is empty", k)
			}
			n++
		}
		return nil
	})
	return n, err
}

func (s *boltStore) Close() error { return s.db.Close() }

// sqliteStore is one table, with write-ahead log and full synchronisation.
type sqliteStore struct {
	db  *sql.DB
	put *sql.Stmt
}

func openSQLite(dir string) (store, error) {
	name := "file:" + filepath.Join(dir, "events.sqlite") + "?_pragma=journal_mode(wal)&_pragma=synchronous(full)"
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // one writer at a time, waiting in order, is what SQLite does best
	if _, err := db.Exec("create table if not exists events (seq integer primary key, data blob not null)"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	put, err := db.Prepare("insert into events (data) values (?)")
	return &sqliteStore{db, put}, err
}

func (s *sqliteStore) Append(es []event) error {
	if len(es) == 1 {
		_, err := s.put.Exec(es[0].data)
		return err
	}
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	put := tx.Stmt(s.put)
	for _, e := range es {
		if _, err := put.Exec(e.data); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (s *sqliteStore) Scan() (n int, err error) {
	rows, err := s.db.Query("select seq, data from events order by seq")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var seq int64
	var data sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&seq, &data); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

func (s *sqliteStore) Close() error { return errors.Join(s.put.Close(), s.db.Close()) }
