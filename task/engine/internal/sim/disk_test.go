package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

var owner = store.Owner("acme", "alice")

func taskID(n int) store.TaskID { return store.TaskID{15: byte(n + 1)} }

func creation(n int) *store.Batch {
	return &store.Batch{
		Scope: owner, Task: taskID(n), Rev: new(uint64(0)),
		Change: store.Change{Status: &store.Status{State: 1, Time: 1}, Phase: store.Live},
		Events: []store.Event{{Public: true, Kind: "task", Data: []byte("created")}},
	}
}

func chunk(n, i int) *store.Batch {
	return &store.Batch{
		Scope: store.System(), Task: taskID(n), Fence: new(uint64(1)),
		Events: []store.Event{{Public: true, Kind: "artifact", Data: fmt.Append(nil, i)}},
	}
}

func events(t *testing.T, d *Disk, n int) []string {
	t.Helper()
	h := d.Durable()
	v, err := h.Read(t.Context(), store.System(), taskID(n), store.After(0), store.Limit{})
	if err != nil {
		return nil
	}
	var data []string
	for _, e := range v.Events {
		data = append(data, string(e.Data))
	}
	return data
}

func TestDiskKeepsOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		s := NewScheduler(Seeded(seed))
		d := NewDisk(s)
		told := map[string]int{}
		d.Committed = func(c Committed) { told[c.Process.name]++ }
		for n := range 3 {
			p := s.Process(fmt.Sprint("p", n))
			h := d.Handle(p)
			p.Go(func() {
				commits := []*store.Commit{h.Append(context.Background(), creation(n))}
				for i := range 20 {
					commits = append(commits, h.Append(context.Background(), chunk(n, i)))
					if c := commits[len(commits)/2]; i%3 == 0 {
						p.Wait(c.Done())
						if _, err := c.Wait(); err != nil {
							s.Fail("append", "%v", err)
						}
					}
				}
			})
		}
		s.Settle(0)
		if f := s.failure; f != nil {
			t.Fatalf("seed %d: %v", seed, f)
		}
		for n := range 3 {
			got := events(t, d, n)
			for i, e := range got[1:] {
				if e != fmt.Sprint(i) {
					t.Fatalf("seed %d: event %d of task %d is %q", seed, i, n, e)
				}
			}
			if len(got) != 21 || told[fmt.Sprint("p", n)] != 21 {
				t.Fatalf("seed %d: task %d has %d events, %d commits were seen", seed, n, len(got), told[fmt.Sprint("p", n)])
			}
		}
		s.Close()
	}
}

// TestDiskLosesTheTail kills a process at some step: what it was told of is there,
// what is there is a prefix of what it queued, and may be longer than what it was
// told of only when that was chosen.
func TestDiskLosesTheTail(t *testing.T) {
	t.Parallel()
	lost, silent := 0, 0
	for seed := range uint64(300) {
		s := NewScheduler(Seeded(seed))
		d := NewDisk(s)
		p := s.Process("p")
		h := d.Handle(p)
		acked, queued := 0, 0
		p.Go(func() {
			p.Wait(h.Append(context.Background(), creation(1)).Done())
			acked, queued = 1, 1
			for i := range 30 {
				c := h.Append(context.Background(), chunk(1, i))
				queued++
				p.Go(func() {
					p.Wait(c.Done())
					acked++
				})
				p.Yield()
			}
		})
		steps := 5 + int(seed%40)
		s.Run(func() bool { return s.steps >= steps })
		n := 0
		if seed%2 == 0 {
			n = 1
		}
		waiting := d.Queued(p)
		d.CommitLost(p, n)
		p.Kill()
		s.Settle(0)
		if c := h.Append(context.Background(), chunk(1, 99)); c.Answered() {
			t.Fatal("a dead process's batch was answered")
		}
		if _, err := h.Read(t.Context(), store.System(), taskID(1), store.After(0), store.Limit{}); !errors.Is(err, store.ErrClosed) {
			t.Fatalf("a dead process reads: %v", err)
		}
		s.Settle(0)
		got := events(t, d, 1)
		for i, e := range got {
			if i > 0 && e != fmt.Sprint(i-1) {
				t.Fatalf("seed %d: event %d is %q", seed, i, e)
			}
		}
		if len(got) < acked || len(got) > queued && queued > 0 {
			t.Fatalf("seed %d: %d events, %d acknowledged of %d", seed, len(got), acked, queued)
		}
		if waiting > n {
			lost++
			if len(got) >= queued && queued > 0 {
				t.Fatalf("seed %d: nothing was lost of %d that waited", seed, waiting)
			}
		}
		if n > 0 && waiting > 0 && len(got) > acked {
			silent++
		}
		s.Close()
	}
	if lost < 50 || silent < 50 {
		t.Errorf("%d times something was lost, %d times the last commit was not told of", lost, silent)
	}
}

// A batch whose context has ended before the disk has it may be refused.
func TestDiskRefuses(t *testing.T) {
	t.Parallel()
	s := NewScheduler(Replayed(Tape{}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	c := NewDisk(s).Handle(s.Process("p")).Append(ctx, creation(3))
	cancel()
	s.Settle(0)
	if _, err := c.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("a batch whose context ended: %v", err)
	}
}

func TestWatchWakes(t *testing.T) {
	t.Parallel()
	s := NewScheduler(Seeded(2))
	defer s.Close()
	d := NewDisk(s)
	d.Pauses = true
	a, b := s.Process("a"), s.Process("b")
	ha, hb := d.Handle(a), d.Handle(b)
	seen := uint64(0)
	b.Go(func() {
		wakes, stop := hb.Watch(owner, taskID(1))
		defer stop()
		for seen < 6 {
			v, err := hb.Read(context.Background(), owner, taskID(1), store.After(seen), store.Limit{})
			if err == nil {
				seen = v.Header.Seq
			}
			if seen < 6 {
				b.Wait(wakes)
			}
		}
	})
	a.Go(func() {
		ha.Append(context.Background(), creation(1))
		for i := range 5 {
			a.Wait(ha.Append(context.Background(), chunk(1, i)).Done())
		}
	})
	s.Settle(0)
	if seen != 6 {
		t.Errorf("the reader saw %d events, want 6", seen)
	}
}
