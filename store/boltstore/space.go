package boltstore

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// The disk space that is allocated before it is needed, and how much of it is reserved for
// tasks that have begun.
const (
	aheadBytes   = 64 << 20
	reserveBytes = 16 << 20
	againAfter   = time.Second // before more is asked for that was refused
)

// zeros are written over space that was allocated, shortly before pages are.
var zeros [1 << 20]byte

// space allocates disk space ahead of need, so that a full disk is noticed here, where
// nothing has been written yet, and not in the middle of a commit. Only the writer uses it.
type space struct {
	file    *os.File // bbolt's
	ahead   int64    // bytes to have ahead; 0: none
	inPlace bool     // see zero

	end     int64 // of what is taken
	used    int64 // bytes of the file that pages fill
	cleared int64 // the end of the zeros after them
	full    error // why no more could be taken; nil: it could
	asked   time.Time
}

// take tries to allocate need bytes in addition to what is kept ahead. It does not fail:
// the writer checks low, and otherwise gets the error from the disk itself.
func (s *space) take(need int64, now time.Time) {
	want := s.used + s.ahead + need
	switch {
	case s.ahead == 0:
		return
	case s.full == nil && want <= s.end, s.full != nil && now.Sub(s.asked) < againAfter:
		return // there is enough, or it was refused a moment ago
	}
	want = max(want, s.end)
	s.asked = now
	from := max(s.end, s.used)
	end := want + s.ahead // more than is wanted, so that it is asked for rarely
	err := allocate(s.file, from, end-from)
	if err != nil && full(err) && want > from {
		end = want
		err = allocate(s.file, from, end-from)
	}
	switch {
	case err == nil:
		s.end, s.full = end, nil
	case full(err):
		s.full = err
	default: // this file system does not support it
		s.ahead = 0
	}
}

// zero writes zeros to where the next pages go, in large pieces. Some file systems note which
// of the allocated blocks were written. If the pages of a commit were the first to be written
// there, its sync would have to write that note as well, which costs more than the pages do.
// Others write elsewhere the second time, and the zeros would use up what was allocated: there,
// inPlace is false.
//
// used must be that of the transaction that has begun: what is after it belongs to none.
func (s *space) zero() {
	s.cleared = max(s.cleared, s.used)
	if !s.inPlace || s.cleared-s.used >= int64(len(zeros))/2 || s.end-s.cleared < int64(len(zeros)) {
		return
	}
	// An error is the commit's to report, which writes to the same place.
	if _, err := s.file.WriteAt(zeros[:], s.cleared); err == nil {
		s.cleared += int64(len(zeros))
	}
}

// low returns why only the reserve is left, nil if more is left.
func (s *space) low() error {
	if s.full == nil || s.end-s.used > reserveBytes {
		return nil
	}
	return s.full
}

// full reports whether an error says that there is no room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
