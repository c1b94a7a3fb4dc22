package boltfile

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"syscall"
	"time"
)

// The disk space that is allocated before it is needed, and how much room is reserved.
const (
	AheadBytes   = 64 << 20 // of a large file, by default
	firstAhead   = 1 << 20  // of a file with less than firstUsed
	firstUsed    = 512 << 10
	leastAhead   = 256 << 10   // on a disk that is nearly full
	ReserveBytes = 4 << 20     // for tasks that have begun, and decisions
	LastBytes    = 1 << 20     // for deletions
	againAfter   = time.Second // before more is asked for that was refused
)

// zeros are written over space that was allocated, shortly before pages are.
var zeros [1 << 20]byte

// Space allocates disk space ahead of need, so that a full disk is noticed here, where nothing
// has been written yet, and not in the middle of a commit. Only the writer uses it.
//
// Room is the sum of the free space of the disk, the file's space after its pages, and its
// contiguous free pages.
type Space struct {
	file    *os.File // bbolt's
	metas   *metaPages
	ahead   int64 // bytes to have ahead; 0: none
	inPlace bool  // see zero

	end     int64 // of what is taken
	Used    int64 // bytes of the file that pages fill
	cleared int64 // the end of the zeros after them
	full    error // why no more could be taken; nil: it could
	asked   time.Time
	room    int64
}

// begin records the allocated space after the file's pages at opening, which fill used bytes.
// Those pages are all written, so any further allocation comes after them.
func (s *Space) begin(used int64) {
	s.Used, s.end = used, used
	if info, err := s.file.Stat(); err == nil {
		s.end = max(s.Used, min(info.Size(), allocated(info)))
	}
}

// Take tries to allocate need bytes in addition to the space kept ahead. That is little for a new file,
// then as much as the file has, and at least twice the reserve; and less on a disk with little free
// space. It does not fail: the writer checks short, and otherwise gets
// the error from the disk itself.
func (s *Space) Take(need int64, now time.Time) {
	if s.room = math.MaxInt64; s.ahead == 0 {
		s.unallocated(need)
		return
	}
	if newest, ok := s.metas.newest(); ok {
		s.Used = max(s.Used, int64(newest.high)*newest.pageSize)
	}
	free, known := available(s.file)
	step := min(s.ahead, firstAhead)
	if s.Used >= firstUsed {
		step = min(s.ahead, max(s.Used, 2*ReserveBytes))
	}
	if known {
		step = min(step, max(free/8, leastAhead))
	}
	switch want := s.Used + need + step; {
	case want <= s.end:
		s.full = nil
	case now.Sub(s.asked) >= againAfter, s.full == nil && s.end-s.Used < need+step/2:
		s.asked = now
		s.grow(want + step)
		free, known = available(s.file)
	}
	if s.ahead == 0 { // as grow has found
		s.unallocated(need)
		return
	}
	if s.full == nil && !known {
		return
	}
	s.room = max(s.end-s.Used, 0)
	if s.full == nil {
		s.room += free
	}
	if s.room <= ReserveBytes+need {
		s.room += s.metas.freeRuns(s.file, need)
	}
}

// unallocated finds the room on a file system that cannot allocate ahead: the free space of
// the disk and the free pages of the file.
func (s *Space) unallocated(need int64) {
	free, known := available(s.file)
	if !known {
		return
	}
	if s.room = free; s.room <= ReserveBytes+need {
		s.room += s.metas.freeRuns(s.file, need)
	}
}

// grow allocates up to end, or less if the disk refuses that.
func (s *Space) grow(end int64) {
	from := max(s.end, s.Used)
	err := error(syscall.ENOSPC)
	for size := end - from; size >= leastAhead && full(err); size /= 2 {
		if err = s.allocate(from, size); err == nil {
			s.end = from + size
		}
	}
	switch {
	case err == nil:
		s.full = nil
	case full(err):
		s.full = err
	default: // this file system does not support it
		s.ahead = 0
	}
}

// allocate allocates size bytes from at on, or gives back a partial allocation, which some
// file systems keep. No data is lost, because at is after all pages of the file.
func (s *Space) allocate(at, size int64) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if err = allocate(s.file, at, size); !full(err) {
		return err
	}
	if newest, ok := s.metas.newest(); ok && at >= int64(newest.high)*newest.pageSize {
		_ = release(s.file, at, size)
		_ = s.file.Truncate(info.Size())
	}
	return err
}

// Zero writes zeros to the place of the next pages, in large pieces. Some file systems record
// which of the allocated blocks were written. If the pages of a commit were the first to be
// written there, its sync would have to write that record as well, which costs more than the
// pages do. Copy-on-write file systems write elsewhere the second time, and the zeros would
// use up the allocation: there, inPlace is false.
//
// used must come from the transaction that has begun: the space after it belongs to none.
func (s *Space) Zero() {
	s.cleared = max(s.cleared, s.Used)
	if !s.inPlace || s.cleared-s.Used >= int64(len(zeros))/2 || s.end-s.cleared < int64(len(zeros)) {
		return
	}
	// An error is the commit's to report, which writes to the same place.
	if _, err := s.file.WriteAt(zeros[:], s.cleared); err == nil {
		s.cleared += int64(len(zeros))
	}
}

// Short returns why no more than a reserve is left, nil if more is left.
func (s *Space) Short(reserve int64) error {
	if s.room > reserve {
		return nil
	}
	if s.full != nil {
		return s.full
	}
	return syscall.ENOSPC
}

// full reports whether an error says that there is no room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// freeRuns returns how many bytes a file has in free pages of which enough for need are next
// to each other, and as many as the list of them takes.
func (m *metaPages) freeRuns(file *os.File, need int64) (bytes int64) {
	newest, ok := m.newest()
	if !ok {
		return 0
	}
	size, order := newest.pageSize, binary.NativeEndian
	at := int64(newest.free) * size
	var header [pageHeader + 8]byte
	if _, err := file.ReadAt(header[:], at); err != nil {
		return 0
	}
	count, from := uint64(order.Uint16(header[10:])), at+pageHeader
	if count == manyFree {
		count, from = order.Uint64(header[pageHeader:]), from+8
	}
	ids := make([]byte, 8*min(count, 1<<24))
	if _, err := file.ReadAt(ids, from); err != nil {
		return 0
	}
	least := max(need, int64(len(ids)))/size + 2
	begin, next := uint64(0), uint64(0)
	for i := 0; i <= len(ids); i += 8 {
		id := uint64(0) // after the last page
		if i < len(ids) {
			id = order.Uint64(ids[i:])
		}
		if id != next || id == 0 {
			if run := int64(next - begin); run >= least {
				bytes += run * size
			}
			begin = id
		}
		next = id + 1
	}
	return bytes
}

const (
	pageHeader = 16     // of a page; the count of its elements is at 10
	manyFree   = 0xFFFF // the count of a freelist whose first element says how many there are
)
