//go:build linux

package boltstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// growth is a store that grows by very different steps, and what it holds as of each of
// its transactions.
type growth struct {
	path   string
	random *rand.Rand

	db   *boltstore.DB
	h    store.Handle
	now  map[store.TaskID]grown
	held map[uint64]map[store.TaskID]grown // by transaction
}

// grown is a task with the sizes of its events.
type grown struct {
	sizes []int
	rev   uint64
	ended bool
}

func (g *growth) open() (err error) {
	opts := boltstore.Options{Ahead: []int64{0, -1, 1, 1 << 20, 3 << 20}[g.random.IntN(5)]}
	if g.random.IntN(3) == 0 {
		opts = opts.WithMap(64 << 10)
	}
	if g.db, err = opts.Open(g.path); err != nil {
		return err
	}
	g.h, err = g.db.Handle()
	return errors.Join(err, g.note())
}

// metaPages returns the numbers of the transactions in the two meta pages; 0: not valid.
func (g *growth) metaPages() (tx [2]uint64, err error) {
	f, err := os.Open(g.path)
	if err != nil {
		return tx, err
	}
	defer f.Close()
	for i := range tx {
		var m [64]byte
		if _, err := f.ReadAt(m[:], int64(i*pageSize+16)); err != nil {
			return tx, err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(m[:56])
		if sum.Sum64() == binary.NativeEndian.Uint64(m[56:]) {
			tx[i] = binary.NativeEndian.Uint64(m[48:])
		}
	}
	return tx, nil
}

// note remembers what the newest transaction holds.
func (g *growth) note() error {
	tx, err := g.metaPages()
	g.held[max(tx[0], tx[1])] = maps.Clone(g.now)
	return err
}

func (g *growth) size() int {
	switch n := g.random.IntN(20); {
	case n < 6:
		return g.random.IntN(200)
	case n < 12:
		return g.random.IntN(20_000)
	case n < 16:
		return g.random.IntN(700_000)
	case n < 19:
		return g.random.IntN(4 << 20)
	default:
		return g.random.IntN(6 << 20)
	}
}

// step changes one task, or makes one.
func (g *growth) step(ctx context.Context) error {
	var id store.TaskID
	if ids := slices.SortedFunc(maps.Keys(g.now), func(a, b store.TaskID) int { return bytes.Compare(a[:], b[:]) }); len(ids) > 0 {
		id = ids[g.random.IntN(len(ids))]
	}
	t := g.now[id]
	if g.random.IntN(4) == 0 || len(g.now) == 0 || t.ended && g.random.IntN(4) > 0 {
		id, t = store.NewTaskID(), grown{}
	}
	if t.ended {
		err := g.h.Delete(ctx, store.System(), id, nil)
		for errors.Is(err, store.ErrUnavailable) { // it may have begun
			if err := limitFiles(1 << 40); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
			err = g.h.Delete(ctx, store.System(), id, nil)
		}
		if err != nil {
			return err
		}
		delete(g.now, id)
		tx, err := g.metaPages()
		g.held[min(tx[0], tx[1])] = maps.Clone(g.now) // it is not there while it is being deleted
		return errors.Join(err, g.note())
	}
	b := &store.Batch{
		Scope: store.Owner("t", "growth"), Task: id, Rev: new(t.rev),
		Change: store.Change{Status: &store.Status{State: 2, Time: 1}, Phase: store.Parked},
	}
	if t.rev == 0 {
		b.Change.Context = "context"
	}
	if t.ended = t.rev > 1 && g.random.IntN(3) == 0; t.ended {
		b.Change.Phase = store.Final
	}
	t.sizes = append([]int(nil), t.sizes...)
	for size := g.size(); size >= 0; size -= 15 << 20 {
		part := min(size, 15<<20)
		t.sizes = append(t.sizes, part)
		b.Events = append(b.Events, store.Event{Public: true, Kind: "k", Data: pattern(id, uint64(len(t.sizes)), part)})
	}
	r, err := g.h.Append(ctx, b).Wait()
	if err != nil {
		return err
	}
	t.rev = r.Rev
	g.now[id] = t
	return g.note()
}

// check reads everything.
func (g *growth) check(ctx context.Context) error {
	n := 0
	for id, t := range g.now {
		seq := uint64(0)
		for more := true; more; {
			page, err := g.h.Read(ctx, store.System(), id, store.After(seq), store.Limit{Bytes: 8 << 20})
			if err != nil {
				return fmt.Errorf("Read() of task %s: %w", id, err)
			}
			for _, e := range page.Events {
				if seq++; e.Seq != seq || seq > uint64(len(t.sizes)) || !bytes.Equal(e.Data, pattern(id, seq, t.sizes[seq-1])) {
					return fmt.Errorf("event %d of task %s is not what was written", e.Seq, id)
				}
			}
			more = page.More
		}
		if seq != uint64(len(t.sizes)) {
			return fmt.Errorf("task %s has %d events, want %d", id, seq, len(t.sizes))
		}
		n++
	}
	page, err := g.h.Tasks(ctx, store.Owner("t", "growth"), store.Query{})
	if err != nil || page.Total != int64(n) {
		return fmt.Errorf("Tasks() = %d tasks, %w, want %d", page.Total, err, n)
	}
	return nil
}

// close closes the file, has bbolt check it, and may spoil the newest meta page.
func (g *growth) close(spoil bool) error {
	if err := g.db.Close(); err != nil {
		return err
	}
	if spoil {
		need(g.spoil())
		older(g.path) // as if the commit had not been acknowledged
	}
	return boltCheck(g.path)
}

// spoil tears the newest meta page, so that the store is as the transaction before has
// left it.
func (g *growth) spoil() error {
	tx := must(g.metaPages())
	newest, older := 0, tx[1]
	if tx[1] > tx[0] {
		newest, older = 1, tx[0]
	}
	then, known := g.held[older]
	if older == 0 || !known {
		return nil
	}
	f := must(os.OpenFile(g.path, os.O_RDWR, 0))
	torn := make([]byte, 1+g.random.IntN(40))
	for i := range torn {
		torn[i] = byte(g.random.IntN(256))
	}
	_, err := f.WriteAt(torn, int64(newest*pageSize+16+g.random.IntN(20)))
	need(errors.Join(err, f.Close()))
	if tx, err := g.metaPages(); err != nil || tx[newest] != 0 {
		return fmt.Errorf("meta pages %d, %w, want one that is torn", tx, err)
	}
	g.now = maps.Clone(then)
	return nil
}

// play opens the file a few times, and changes it. before is called before each step.
func (g *growth) play(ctx context.Context, rounds int, before func() error) error {
	for round := range rounds {
		if err := g.open(); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if err := g.check(ctx); err != nil {
			return fmt.Errorf("round %d, opened: %w", round, err)
		}
		for step := range 1 + g.random.IntN(12) {
			if err := before(); err != nil {
				return fmt.Errorf("round %d, step %d: %w", round, step, err)
			}
			if err := g.step(ctx); err != nil {
				return fmt.Errorf("round %d, step %d: %w", round, step, err)
			}
		}
		if err := g.check(ctx); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if err := g.close(g.random.IntN(2) == 0); err != nil {
			return fmt.Errorf("round %d, closed: %w", round, err)
		}
	}
	return nil
}

func newGrowth(path string, seed uint64) *growth {
	return &growth{
		path: path, random: rand.New(rand.NewPCG(seed, 1)),
		now: map[store.TaskID]grown{}, held: map[uint64]map[store.TaskID]grown{},
	}
}

// A store whose newest meta page is torn continues with the one before, and everything that
// one holds is there, also after more has been written and the file has grown by little
// and by much.
func TestOlderMetaPage(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		g := newGrowth(filepath.Join(inMemory(t), "store.db"), seed)
		if err := g.play(t.Context(), 4, func() error { return nil }); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// growFull is a process on a disk that is full now and then, in the middle of a commit too.
func growFull(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	g := newGrowth(path, 5)
	refused := 0
	err := g.play(ctx, 5, func() error {
		if g.random.IntN(3) > 0 {
			return nil
		}
		info := must(os.Stat(path))
		need(limitFiles(uint64(2*pageSize + g.random.IntN(int(info.Size())))))
		err := g.step(ctx)
		if errors.Is(err, store.ErrUnavailable) {
			refused++
			err = nil
		}
		need(errors.Join(err, limitFiles(1<<40)))
		for began := time.Now(); g.db.Trouble() != nil; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				return fmt.Errorf("Trouble() = %w though the disk has room again", g.db.Trouble())
			}
		}
		return errors.Join(g.note(), g.step(ctx))
	})
	if err == nil && refused == 0 {
		err = errors.New("the disk has refused no commit: it is no full one")
	}
	return err
}

func TestFullDiskNowAndThen(t *testing.T) {
	t.Parallel()
	inChild(t, "growth")
}
