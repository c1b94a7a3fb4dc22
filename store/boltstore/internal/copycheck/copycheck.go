// Package copycheck finds out whether a copy of a file is complete. A file that was copied while a
// server was writing to it holds pages of different commits.
package copycheck

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
)

// Check reads all pages of a file and returns an error if they are inconsistent: a page
// is used twice, not at all, or differs from the reference to it; keys are out of order; a
// value fails its checksum, or contradicts the values that refer to it. A copy made while the
// file was being written looks like that: it holds pages of different commits, also within one
// long value, and tasks may be missing from it without a sign. The check takes as long as
// reading the file.
func Check(im *boltfile.Image) error {
	s := newSums()
	if err := im.CheckPages(layout.BucketDropped, s.bucket); err != nil {
		return err
	}
	return s.check()
}

// sums checks the references between the values of a file, in one pass. A value that refers to
// another value adds its hash, and the other value takes it off, so that nothing is left in
// the end. Only this detects a valid page from another commit.
type sums struct {
	seed       maphash.Seed
	log        uint64 // values of the log, which headers count
	derived    uint64 // live, list, list.ctx and rowidx, which follow from headers and rows
	rebuilding bool   // they are incomplete
	due        uint64 // due rows of tasks, which headers count
	entries    uint64 // of the audit, which are numbered
	newest     uint64 // likewise: the largest number
}

func newSums() *sums { return &sums{seed: maphash.MakeSeed()} }

func (s *sums) hash(bucket, key []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	_, _ = h.Write(bucket)
	_, _ = h.Write(key)
	return h.Sum64()
}

// bucket adds the values of a bucket.
func (s *sums) bucket(b *boltfile.Bucket) error {
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if err := s.value(b.Name(), k, v); err != nil {
			return fmt.Errorf("a value of %s is damaged: %w", b.Name(), err)
		}
	}
	return nil
}

// value adds the value at a key of a bucket. It fails if the value differs from the written
// value, which cannot be told in live, list, list.ctx and rowidx.
func (s *sums) value(bucket, key, value []byte) error {
	switch string(bucket) {
	case string(layout.BucketMeta):
		s.rebuilding = s.rebuilding || bytes.Equal(key, layout.KeyRebuild)
	case string(layout.BucketLog):
		return s.logValue(key, value)
	case string(layout.BucketTask):
		return s.header(key, value)
	case string(layout.BucketRow):
		return s.row(key, value)
	case string(layout.BucketDue):
		return s.dueRow(key, value)
	case string(layout.BucketAudit):
		s.entries++
		s.newest = max(s.newest, layout.ReadU64(key))
		if _, err := layout.Unmark(layout.BucketAudit, key, value); err != nil {
			return err
		}
	case string(layout.BucketLive), string(layout.BucketList), string(layout.BucketListCtx), string(layout.BucketRowIdx):
		s.derived -= s.hash(bucket, key)
	}
	return nil
}

func (s *sums) logValue(key, value []byte) error {
	r := layout.NewReader(layout.BucketLog, key, value)
	h := r.Head(key, true /* check */)
	if r.Err == nil && h.Compressed {
		r.Expand()
	}
	for n := uint64(0); n < h.Events && r.Err == nil; n++ {
		r.Event()
	}
	s.log += h.K * s.hash(layout.BucketTask, h.Task[:])
	return r.Err
}

func (s *sums) header(key, value []byte) error {
	if len(key) != len(store.TaskID{}) {
		return errors.New("its key is not the id of a task")
	}
	t, err := layout.DecodeHeader(store.TaskID(key), value)
	if err != nil {
		return err
	}
	task := s.hash(layout.BucketTask, key)
	// The sum of 1, 2 … values: either factor is even.
	if n := t.Values; n%2 == 0 {
		s.log -= n / 2 * (n + 1) * task
	} else {
		s.log -= (n + 1) / 2 * n * task
	}
	s.due -= uint64(t.Due) * task
	switch {
	case !t.Visible():
	case t.Phase == store.Live:
		s.derived += s.hash(layout.BucketLive, key)
	default:
		list, byContext := layout.ListKeys(&t.Header)
		s.derived += s.hash(layout.BucketList, list) + s.hash(layout.BucketListCtx, byContext)
	}
	return nil
}

func (s *sums) row(key, value []byte) error {
	row, err := layout.DecodeRow(key, value)
	if err != nil {
		return err
	}
	kind, _, _ := layout.CutWord(key)
	for _, ix := range row.Index {
		s.derived += s.hash(layout.BucketRowIdx, layout.IndexKey(string(kind), ix, key))
	}
	return nil
}

func (s *sums) dueRow(key, value []byte) error {
	d := layout.DecodeDue(key, value)
	if d.Damaged {
		return errors.New("it differs from the written value")
	}
	if !d.Task.IsZero() && d.Kind != store.DueDelete { // a task whose deletion has begun does not count that
		s.due += s.hash(layout.BucketTask, d.Task[:])
	}
	return nil
}

// check returns an error if something is left.
func (s *sums) check() error {
	switch {
	case s.log != 0:
		return errors.New("log values and task headers disagree")
	case s.derived != 0 && !s.rebuilding:
		return errors.New("lists disagree with tasks and rows")
	case s.due != 0:
		return errors.New("due work and task headers disagree")
	case s.entries != s.newest:
		return fmt.Errorf("its audit has %d entries, and the newest is number %d", s.entries, s.newest)
	}
	return nil
}
