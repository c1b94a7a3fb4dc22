package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"

	"a2a-server/store"
)

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

// value adds the value at a key of a bucket. It fails if the value differs from the written
// value, which cannot be told in live, list, list.ctx and rowidx.
func (s *sums) value(bucket, key, value []byte) error {
	switch string(bucket) {
	case string(bucketMeta):
		s.rebuilding = s.rebuilding || bytes.Equal(key, keyRebuild)
	case string(bucketLog):
		return s.logValue(key, value)
	case string(bucketTask):
		return s.header(key, value)
	case string(bucketRow):
		return s.row(key, value)
	case string(bucketDue):
		return s.dueRow(key, value)
	case string(bucketAudit):
		s.entries++
		s.newest = max(s.newest, readU64(key))
		if _, err := unmark(bucketAudit, key, value); err != nil {
			return err
		}
	case string(bucketLive), string(bucketList), string(bucketListCtx), string(bucketRowIdx):
		s.derived -= s.hash(bucket, key)
	}
	return nil
}

func (s *sums) logValue(key, value []byte) error {
	r := open(bucketLog, key, value)
	h := r.head(key, true /* check */)
	if r.err == nil && h.compressed {
		r.expand()
	}
	for n := uint64(0); n < h.events && r.err == nil; n++ {
		r.event()
	}
	s.log += h.k * s.hash(bucketTask, h.task[:])
	return r.err
}

func (s *sums) header(key, value []byte) error {
	if len(key) != len(store.TaskID{}) {
		return errors.New("its key is not the id of a task")
	}
	t, err := decodeRecord(store.TaskID(key), value)
	if err != nil {
		return err
	}
	task := s.hash(bucketTask, key)
	// The sum of 1, 2 … values: either factor is even.
	if n := t.values; n%2 == 0 {
		s.log -= n / 2 * (n + 1) * task
	} else {
		s.log -= (n + 1) / 2 * n * task
	}
	s.due -= uint64(t.Due) * task
	switch {
	case !t.there():
	case t.Phase == store.Live:
		s.derived += s.hash(bucketLive, key)
	default:
		list, byContext := listKeys(&t.Header)
		s.derived += s.hash(bucketList, list) + s.hash(bucketListCtx, byContext)
	}
	return nil
}

func (s *sums) row(key, value []byte) error {
	row, err := decodeRow(key, value)
	if err != nil {
		return err
	}
	kind, _, _ := cutWord(key)
	for _, ix := range row.index {
		s.derived += s.hash(bucketRowIdx, indexKey(string(kind), ix, key))
	}
	return nil
}

func (s *sums) dueRow(key, value []byte) error {
	d := decodeDue(key, value)
	if d.Damaged {
		return errors.New("it differs from the written value")
	}
	if !d.Task.IsZero() && d.Kind != store.DueDelete { // a task whose deletion has begun does not count that
		s.due += s.hash(bucketTask, d.Task[:])
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
