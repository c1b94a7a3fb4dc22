//go:build linux

package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// fullEnv, when set, makes this test binary a process whose files may not grow beyond a
// limit, which to the store is a disk that is full. Its value is a case of fullCases.
const fullEnv = "BOLTSTORE_FULL_CHILD"

// fullCases are where the disk may turn out to be full: when bbolt makes the file longer,
// when it writes a page into room that was promised, and when room is taken ahead.
var fullCases = map[string]int64{"growing": -1, "writing": 0, "ahead": 1 << 20}

// A full disk refuses new tasks and says why. What turns write waits, and is there when
// there is room again, in its order; reads continue; and nobody has to do anything.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name := range fullCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inChild(t, name)
		})
	}
}

// inChild runs a case in a process of its own, because its limits are the process's.
func inChild(t *testing.T, name string) {
	t.Helper()
	self := must(os.Executable())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, filepath.Join(inMemory(t), "store.db"))
	cmd.Env = append(os.Environ(), fullEnv+"="+name, "GORACE=atexit_sleep_ms=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, bytes.TrimSpace(out))
	}
}

// limitFiles sets how long a file of this process may become.
func limitFiles(size uint64) error {
	var l syscall.Rlimit
	need(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l))
	l.Cur = min(size, l.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
}

// fullClient is a task that is at work while the disk fills.
type fullClient struct {
	h    store.Handle
	id   store.TaskID
	last uint64
}

func newFullClient(h store.Handle) (*fullClient, error) {
	create, _ := turn(store.Owner("t", "full"))
	r, err := h.Append(context.Background(), create).Wait()
	return &fullClient{h, create.Task, r.Last}, err
}

// chunk queues one event of a turn.
func (c *fullClient) chunk(size int) *store.Commit {
	c.last++
	return c.h.Append(context.Background(), &store.Batch{
		Scope: store.System(), Task: c.id, Fence: new(uint64(1)),
		Events: []store.Event{{Public: true, Kind: "k", Data: pattern(c.id, c.last, size)}},
	})
}

func fullChild(name, path string) error {
	switch name {
	case "trouble":
		return troubleEnd(path)
	case "reserve":
		return reserveLeft(path)
	case "order":
		return reserveOrder(path)
	case "growth":
		return growFull(path)
	}
	signal.Ignore(syscall.SIGXFSZ)
	db, h := handled(boltstore.Options{Ahead: fullCases[name]}.Open(path))
	c := must(newFullClient(h))
	need(limitFiles(4 << 20))
	fill := func() error { // until a create is refused
		for range 100_000 {
			create, _ := turn(store.Owner("t", "filler"))
			create.Events = append(create.Events, store.Event{Kind: "k", Data: noise(64 << 10)})
			if _, err := h.Append(context.Background(), create).Wait(); err != nil {
				return err
			}
		}
		return nil
	}
	err := fill()
	if !errors.Is(err, store.ErrUnavailable) || !strings.HasPrefix(err.Error(), "the file has reached its size limit") {
		return fmt.Errorf("a create on the full disk: %w, want ErrUnavailable that says so first", err)
	}
	if err := db.Trouble(); !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("Trouble() = %w on the full disk", err)
	}
	if err := db.Err(); err != nil {
		return fmt.Errorf("Err() = %w, which is for good", err)
	}
	first, second := c.chunk(2<<20), c.chunk(100)
	if _, err := h.Read(context.Background(), store.System(), c.id, store.After(0), store.Limit{}); err != nil {
		return fmt.Errorf("a read on the full disk: %w", err)
	}
	// The disk looks again by itself; nothing of the turn is given up meanwhile.
	select {
	case <-second.Done():
		_, err := second.Wait()
		return fmt.Errorf("a chunk was answered on the full disk: %w", err)
	case <-time.After(300 * time.Millisecond):
	}
	need(limitFiles(1 << 40))
	for n, commit := range []*store.Commit{first, second} {
		if r, err := commit.Wait(); err != nil || r.Last != c.last-1+uint64(n) {
			return fmt.Errorf("chunk %d when there is room again: seq %d, %w", n, r.Last, err)
		}
	}
	create, _ := turn(store.Owner("t", "later"))
	if _, err := h.Append(context.Background(), create).Wait(); err != nil {
		return fmt.Errorf("a create when there is room again: %w", err)
	}
	if err := db.Trouble(); err != nil {
		return fmt.Errorf("Trouble() = %w when there is room again", err)
	}
	need(db.Close())
	return holdsChunks(path, c)
}

// holdsChunks opens the file again and looks for what the turn has written.
func holdsChunks(path string, c *fullClient) error {
	db, h := handled(boltstore.Open(path))
	defer db.Close()
	v, err := h.Read(context.Background(), store.System(), c.id, store.After(c.last-2), store.Limit{Bytes: 8 << 20})
	if err != nil || len(v.Events) != 2 {
		return fmt.Errorf("%d chunks are there when the file is opened again, want 2: %w", len(v.Events), err)
	}
	for i, size := range []int{2 << 20, 100} {
		if want := pattern(c.id, v.Events[i].Seq, size); !bytes.Equal(v.Events[i].Data, want) {
			return fmt.Errorf("chunk %d is not what was written", i)
		}
	}
	return nil
}

// troubleEnd is a process whose disk is full for a while, and in which nobody writes
// afterwards: it says by itself that all is well again.
func troubleEnd(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	c := must(newFullClient(h))
	need(limitFiles(1 << 20))
	create, _ := turn(store.Owner("t", "filler"))
	create.Events = append(create.Events, store.Event{Kind: "k", Data: make([]byte, 8<<20)})
	if _, err := h.Append(context.Background(), create).Wait(); !errors.Is(err, store.ErrUnavailable) || db.Trouble() == nil {
		return fmt.Errorf("Append() = %w, Trouble() = %w, want ErrUnavailable from both", err, db.Trouble())
	}
	// The only batch that waits is not written, because it does not hold any more.
	step := h.Append(context.Background(), &store.Batch{
		Scope: store.System(), Task: c.id, Rev: new(uint64(1)), Fence: new(uint64(1)), Events: []store.Event{{Kind: "k"}},
		Holds: func() bool { return false },
	})
	need(limitFiles(1 << 40))
	if _, err := step.Wait(); !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("a change that does not hold: %w, want ErrConflict", err)
	}
	for began := time.Now(); db.Trouble() != nil; time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			return fmt.Errorf("Trouble() = %w though the disk has room again", db.Trouble())
		}
	}
	return db.Close()
}

// A load balancer sends nothing to a server that is not ready, so that nothing but the
// store itself would ever notice that the disk can be written again.
func TestTroubleEndsByItself(t *testing.T) {
	t.Parallel()
	inChild(t, "trouble")
}

// reserveLeft is a process on a disk of which only the reserve is left.
func reserveLeft(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	db, h := handled(boltstore.Options{Ahead: 8 << 20}.Open(path))
	c := must(newFullClient(h))
	other, large := must(newFullClient(h)), must(newFullClient(h))
	need(fillToReserve(h, path))
	decide := func(id store.TaskID, data []byte) error {
		r, err := h.Append(context.Background(), &store.Batch{
			Scope: store.System(), Task: id, Rev: new(uint64(1)), Change: store.Change{TakeFence: true},
			Events: []store.Event{{Kind: "k", Data: data}},
		}).Wait()
		if err != nil || r.Fence != 2 {
			return fmt.Errorf("a decision within the reserve: fence %d, %w", r.Fence, err)
		}
		return nil
	}
	need(decide(large.id, noise(256<<10))) // more than the pages that a commit sets free
	first, cutOff := c.chunk(100), other.chunk(100)
	// What somebody decides, and the end of what has begun, is still taken. A turn that is cut
	// off hears so: it needs no disk for that.
	if err := decide(other.id, []byte("decided")); err != nil {
		return err
	}
	second := c.chunk(100)
	if first.Answered() || second.Answered() {
		return errors.New("a chunk was answered within the reserve")
	}
	if _, err := cutOff.Wait(); !errors.Is(err, store.ErrFenced) {
		return fmt.Errorf("the chunk of a turn that was cut off: %w, want ErrFenced", err)
	}
	need(limitFiles(1 << 40))
	for n, commit := range []*store.Commit{first, second} {
		if r, err := commit.Wait(); err != nil || r.Last != c.last-1+uint64(n) {
			return fmt.Errorf("chunk %d when there is room again: seq %d, %w", n, r.Last, err)
		}
	}
	return db.Close()
}

// fillToReserve makes what was taken ahead all that there is on the disk, and creates
// tasks until they are refused.
func fillToReserve(h store.Handle, path string) error {
	for range 2 { // a new file has less than the reserve ahead
		create, _ := turn(store.Owner("t", "filler"))
		create.Events = append(create.Events, store.Event{Kind: "k", Data: noise(1 << 20)})
		commit(h, create)
	}
	info := must(os.Stat(path))
	need(limitFiles(uint64(info.Size()))) // what was taken ahead is all there is
	size := 64 << 10
	for range 10_000 {
		create, _ := turn(store.Owner("t", "filler"))
		create.Events = append(create.Events, store.Event{Kind: "k", Data: noise(size)})
		_, err := h.Append(context.Background(), create).Wait()
		switch {
		case errors.Is(err, store.ErrUnavailable) && size == 100:
			return nil
		case errors.Is(err, store.ErrUnavailable):
			size = 100 // this may fit into free pages
		case err != nil:
			return err
		}
	}
	return errors.New("no create was refused")
}

func TestReserve(t *testing.T) {
	t.Parallel()
	inChild(t, "reserve")
}

// reserveOrder is a process on a disk of which only the reserve is left, and that refuses
// a step of a turn, and then takes it.
func reserveOrder(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var hold atomic.Bool
	held, goOn := make(chan struct{}), make(chan struct{})
	tries := make(chan struct{}, 1)
	db, h := handled(boltstore.Options{Ahead: 8 << 20, Hook: func(point string) {
		if point != boltstore.PointTaken {
			return
		}
		if hold.CompareAndSwap(true, false) {
			close(held)
			<-goOn
		}
		select {
		case tries <- struct{}{}:
		default:
		}
	}}.Open(path))
	c := must(newFullClient(h))
	need(fillToReserve(h, path))
	need(limitFiles(64 << 10)) // nor can the reserve be used
	hold.Store(true)
	rows := h.Append(context.Background(), &store.Batch{Scope: store.Owner("t", "full"), Audit: [][]byte{make([]byte, 1<<20)}})
	<-held
	// Both come in one round.
	c.last++
	step := h.Append(context.Background(), &store.Batch{
		Scope: store.System(), Task: c.id, Rev: new(uint64(1)), Fence: new(uint64(1)),
		Events: []store.Event{{Public: true, Kind: "k", Data: pattern(c.id, c.last, 1<<20)}},
	})
	chunk := c.chunk(100)
	close(goOn)
	_, _ = rows.Wait()
	if step.Answered() || chunk.Answered() {
		return errors.New("a batch of a turn was answered by a disk that refuses it")
	}
	for range 3 {
		<-tries
	}
	need(limitFiles(1 << 40))
	first, second := must(step.Wait()), must(chunk.Wait())
	if first.Last != c.last-1 || second.Last != c.last {
		return fmt.Errorf("the step is event %d and the chunk that was queued after it event %d, want %d and %d", first.Last, second.Last, c.last-1, c.last)
	}
	return db.Close()
}

// What a turn queues stays in its order when the disk refuses a part of it that might
// have used the reserve.
func TestReserveKeepsTheOrder(t *testing.T) {
	t.Parallel()
	inChild(t, "order")
}
