package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"a2a-server/store/boltstore/internal/boltfile"
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
func recordsPath(path string) string { return boltfile.Beside(path, ".epoch") }

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

// readRecords returns the newest valid record of an incarnation, and its slot. Without one slot is 1,
// and the record zero. A file that cannot be read, or in which neither slot is valid or still empty, is
// an error: no crash leaves it so.
func readRecords(path string, incarnation uint64) (newest commitRecord, slot int, err error) {
	slot = 1
	text, err := os.ReadFile(recordsPath(path))
	if errors.Is(err, os.ErrNotExist) {
		return newest, slot, nil
	}
	valid := isZero(text) // as it is made
	for i := range 2 {
		if len(text) < i*slotSize+recordSize {
			break
		}
		value := text[i*slotSize:][:recordSize]
		if layout.Check(recordSeal, nil, value) != nil {
			valid = valid || isZero(value)
			continue
		}
		valid = true
		order := binary.BigEndian
		r := commitRecord{order.Uint64(value), order.Uint64(value[8:]), order.Uint64(value[16:])}
		if r.incarnation == incarnation && (newest.incarnation == 0 || newest.older(r)) {
			newest, slot = r, i
		}
	}
	if err == nil && !valid {
		err = errors.New("it has no valid record")
	}
	if err != nil {
		err = fmt.Errorf("%[1]s, which records the newest commit of %[2]s, cannot be read (%[3]w), so that an earlier version of the store would not be noticed. If %[2]s is as the server left it, remove %[1]s. Else make a store of it in another data folder, which asks again about all that is undecided: a2a-server store restore --unverified %[2]s --data FOLDER", recordsPath(path), path, err)
	}
	return newest, slot, err
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// checkVersion decides whether a file is served. have is its newest commit, and known identifies the
// file that it was when it was last served; nil: it is new. It is the same file if it has the same inode
// and, where the system tells it, the same time of birth. The number of its device does not count,
// because it may differ after each start of the system.
//
//	file    released   newest record of its incarnation:
//	                   equal     lower     none      higher            unreadable
//	same    no         served    served    served    earlier version   refused
//	same    yes        released: refused, whatever the record
//	other   no         a copy: refused, whatever the record
//	other   yes        served    served    served    earlier version   refused
//
// A power loss leaves a lower record. A file that was moved alone has none, and neither has a restored
// store in the place of another, whose records are of another incarnation. A network file system may give
// the same file another inode at each start: there the row "other, no" is the row "same, no", and the row
// "same, yes" may be the row "other, yes".
//
// A file that is served keeps its incarnation, so that its records refuse every earlier version, also a version
// from before a move or a new number of the device.
func checkVersion(file *boltfile.File, known []byte, released bool, have commitRecord) error {
	path, copied := file.Path(), isCopyOf(file, known)
	newest, _, err := readRecords(path, have.incarnation)
	switch {
	case released && !copied:
		return releasedError(path)
	case copied && !released && !file.Renumbers():
		return fmt.Errorf("%w. To move a store, stop its server and run a2a-server store release --data FOLDER before you copy it", copyError(path, "is a copy of another file"))
	case err != nil:
		return err
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
	name := recordsPath(path)
	_, r.slot, _ = readRecords(path, incarnation) // checkVersion has refused an error
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	made := errors.Is(err, os.ErrNotExist)
	if made {
		// Exclusive: root gives away only a file that it has made.
		file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		r.fail(err)
		return r
	}
	r.file = file
	if made {
		if err := giveToOwner(name, file.Chown); err != nil {
			r.fail(err)
		}
	}
	info, err := file.Stat()
	if err == nil && info.Size() < recordsSize {
		// Its space is taken now: a full disk does not refuse a record later. What is there stays.
		_, err = file.WriteAt(make([]byte, recordsSize-info.Size()), info.Size())
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

// copyError refuses a file that does not show which calls have run since.
func copyError(path, is string) error {
	return fmt.Errorf("%s %s. Calls that it takes for undecided may have run since: make a store of it in another data folder, which asks again about all of them: a2a-server store restore --unverified %s --data FOLDER", path, is, path)
}
