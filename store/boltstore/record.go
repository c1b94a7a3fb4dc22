package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"a2a-server/store/boltstore/internal/layout"
)

// commitRecord names the newest commit of a store: its incarnation, the epoch of its newest instance,
// and bbolt's transaction number, which a commit raises and a read does not.
type commitRecord struct{ incarnation, epoch, tx uint64 }

// The file of records has two slots, in different sectors. A write goes to the older slot, so that a
// torn write leaves the record of the commit before.
const (
	slotSize    = 512
	recordsSize = 2 * slotSize
	recordSize  = 3*8 + 4
)

// recordsPath returns the path of the file beside a store that records its newest commit. Nothing in
// the store tells that an earlier copy was written over it; the record does.
func recordsPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".epoch")
}

var recordSeal = []byte("record")

func (r commitRecord) append(b []byte) []byte {
	start := len(b)
	for _, n := range []uint64{r.incarnation, r.epoch, r.tx} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return layout.AppendSum(b, start, recordSeal, nil)
}

// older reports whether r is a state of the store before s.
func (r commitRecord) older(s commitRecord) bool {
	return r.incarnation == s.incarnation && (r.epoch < s.epoch || r.epoch == s.epoch && r.tx < s.tx)
}

// readRecords returns the newest valid record of an incarnation, and its slot. A file that is missing
// or damaged has none: slot is then 1, and the record zero.
func readRecords(path string, incarnation uint64) (newest commitRecord, slot int) {
	slot = 1
	text, err := os.ReadFile(recordsPath(path))
	if err != nil {
		return newest, slot
	}
	for i := range 2 {
		if len(text) < i*slotSize+recordSize {
			break
		}
		value := text[i*slotSize:][:recordSize]
		if layout.Check(recordSeal, nil, value) != nil {
			continue
		}
		order := binary.BigEndian
		r := commitRecord{order.Uint64(value), order.Uint64(value[8:]), order.Uint64(value[16:])}
		if r.incarnation == incarnation && (newest.incarnation == 0 || newest.older(r)) {
			newest, slot = r, i
		}
	}
	return newest, slot
}

// checkRecords returns an error if the store has had a newer commit than it has now.
func checkRecords(path string, have commitRecord) error {
	newest, _ := readRecords(path, have.incarnation)
	switch {
	case !have.older(newest):
		return nil
	case have.epoch < newest.epoch:
		return copyError(path, fmt.Sprintf("is an earlier version of the store: it was started %d times since", newest.epoch-have.epoch))
	default:
		return copyError(path, fmt.Sprintf("is an earlier version of the store: it lacks %d commits", newest.tx-have.tx))
	}
}

// recorder writes the record of each commit, after the commit was synced and before it is
// acknowledged, so that a record is never newer than the store. It does not sync: a power loss may
// bring back an older record, which refuses less. A loss of the record loses the check, and nothing
// else. One goroutine calls note.
type recorder struct {
	path        string
	incarnation uint64
	file        *os.File // nil: it cannot be opened
	slot        int      // of the newest record
	buffer      []byte
	failure     atomic.Pointer[string] // why a record was not written, for the operator
}

// newRecorder opens the file of records of the store at path, and makes it if needed. Made by root, it
// belongs to the owner of the folder, as a restored store does.
func newRecorder(path string, incarnation uint64) *recorder {
	r := &recorder{path: path, incarnation: incarnation}
	_, r.slot = readRecords(path, incarnation)
	file, err := os.OpenFile(recordsPath(path), os.O_RDWR, 0)
	made := errors.Is(err, os.ErrNotExist)
	if made {
		// Exclusive: root gives away only a file that it has made.
		file, err = os.OpenFile(recordsPath(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		r.fail(err)
		return r
	}
	r.file = file
	if made {
		if err := giveToOwner(path, file.Chown); err != nil {
			r.fail(err)
		}
	}
	info, err := file.Stat()
	if err == nil && info.Size() != recordsSize {
		// Its space is taken now: a full disk does not refuse a record later.
		_, err = file.WriteAt(make([]byte, recordsSize), 0)
		err = errors.Join(err, file.Truncate(recordsSize))
	}
	if err != nil {
		r.fail(err)
	}
	return r
}

// note records a commit that is durable.
func (r *recorder) note(epoch, tx uint64) {
	if r.file == nil {
		return
	}
	next := 1 - r.slot
	r.buffer = commitRecord{r.incarnation, epoch, tx}.append(r.buffer[:0])
	if _, err := r.file.WriteAt(r.buffer, int64(next)*slotSize); err != nil {
		r.fail(err)
		return
	}
	r.slot = next
}

func (r *recorder) fail(err error) {
	text := fmt.Sprintf("commits are not recorded beside %s, so that an earlier version written over it would not be noticed: %v", r.path, err)
	r.failure.CompareAndSwap(nil, &text)
}

func (r *recorder) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// copyError refuses a file in which it is not known what has run since.
func copyError(path, is string) error {
	return fmt.Errorf("%s %s. Calls that it takes for undecided may have run since: make a store of it in another data folder, which asks again about all of them: a2a-server store restore --unverified %s --data FOLDER", path, is, path)
}
