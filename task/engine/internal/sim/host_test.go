package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// chatter has routines of two processes talk over channels and timers, and returns
// the trace.
func chatter(c *Choices) (lines []string, sum uint64) {
	s := NewScheduler(c)
	defer s.Close()
	s.Trace(func(line string) { lines = append(lines, line) })
	for _, name := range []string{"a", "b"} {
		p := s.Process(name)
		ping, over := make(chan struct{}, 1), make(chan struct{})
		p.After(40*time.Millisecond, func() { close(over) })
		for i := range 4 {
			p.Go(func() {
				for {
					if p.Wait(ping, over, nil) == 1 {
						s.Note("%s %d is over", name, i)
						return
					}
					p.Sleep(time.Duration(i) * time.Millisecond)
					ping <- struct{}{}
				}
			})
		}
		ping <- struct{}{}
	}
	s.Run(func() bool { return false })
	return lines, s.sum.Sum64()
}

func TestSameChoicesSameRun(t *testing.T) {
	t.Parallel()
	sums := map[uint64]bool{}
	for seed := range uint64(50) {
		c := Seeded(seed)
		first, sum := chatter(c)
		again, _ := chatter(Seeded(seed))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("seed %d twice (-first +second):\n%s", seed, diff)
		}
		tape, err := ParseTape(c.Tape().String())
		if err != nil {
			t.Fatal(err)
		}
		replayed, replayedSum := chatter(Replayed(tape))
		if diff := cmp.Diff(first, replayed); diff != "" || sum != replayedSum {
			t.Fatalf("seed %d replayed from its tape (-first +second):\n%s", seed, diff)
		}
		sums[sum] = true
	}
	if len(sums) < 45 {
		t.Errorf("50 seeds gave %d different runs", len(sums))
	}
}

func TestTape(t *testing.T) {
	t.Parallel()
	c := Seeded(7)
	for i := range 200 {
		c.Choose(Stream(i%5), i+2)
	}
	got, err := ParseTape(c.Tape().String())
	if diff := cmp.Diff(c.Tape(), got); err != nil || diff != "" {
		t.Errorf("ParseTape() = %v (-want +got):\n%s", err, diff)
	}
	for _, text := range []string{"", "sim1", "sim2.AAAAAAA", "sim1.A", "sim1.AQ", "sim1.AAAAAAAAAAA", c.Tape().String() + "AA", "sim1./////w"} {
		if _, err := ParseTape(text); err == nil {
			t.Errorf("ParseTape(%q) reports no error", text)
		}
	}
	var empty Tape
	if r := Replayed(empty); r.Choose(Script, 5) != 0 || r.Rarely(Faults, 2) {
		t.Error("an empty tape does not choose 0")
	}
}

func TestTimers(t *testing.T) {
	t.Parallel()
	s := NewScheduler(Replayed(Tape{}))
	defer s.Close()
	p := s.Process("p")
	var got []string
	note := func(name string) func() {
		return func() { got = append(got, fmt.Sprint(name, " ", p.Now().Sub(Epoch))) }
	}
	p.After(3*time.Second, note("c"))
	p.After(time.Second, note("a"))
	p.After(time.Second, note("b"))
	stop := p.After(2*time.Second, note("stopped"))
	p.After(time.Hour, note("late"))
	if !stop() || stop() {
		t.Error("stop() of a timer that waits is not true, then false")
	}
	s.Settle(time.Minute)
	if diff := cmp.Diff([]string{"a 1s", "b 1s", "c 3s"}, got); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
}

func TestIdleIsLast(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		s := NewScheduler(Seeded(seed))
		p := s.Process("p")
		var got []int
		p.Go(func() {
			p.Idle()
			got = append(got, 9)
		})
		for i := range 3 {
			p.Go(func() {
				for range 5 {
					p.Yield()
				}
				got = append(got, i)
			})
		}
		s.Run(func() bool { return false })
		s.Close()
		if len(got) != 4 || got[3] != 9 {
			t.Fatalf("seed %d: order %v, want 9 last", seed, got)
		}
	}
}

func TestFailureEndsTheRun(t *testing.T) {
	t.Parallel()
	s := NewScheduler(Seeded(1))
	defer s.Close()
	p := s.Process("p")
	p.Go(func() {
		for {
			p.Yield()
		}
	})
	p.Go(func() { panic("boom") })
	s.Run(func() bool { return false })
	if f := s.failure; f == nil || f.Rule != "panic" || !strings.Contains(f.Detail, "boom") {
		t.Errorf("Failure() = %v, want the panic", f)
	}
}

func TestWaitFromOutside(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("Wait outside of a routine does not panic")
		}
	}()
	NewScheduler(Seeded(1)).Process("p").Wait(nil)
}

// TestDeath kills processes wherever their routines wait, 10,000 times; goleak looks
// for what is left.
func TestDeath(t *testing.T) {
	t.Parallel()
	begun, deferred := 0, 0
	for seed := range uint64(2500) {
		s := NewScheduler(Seeded(seed))
		var live []*Process
		for i := range 4 {
			p := s.Process(fmt.Sprint(i))
			live = append(live, p)
			never := make(chan struct{})
			tick := make(chan struct{}, 1)
			tick <- struct{}{}
			p.After(time.Hour, func() { t.Error("a timer of a dead process was started") })
			for range 3 {
				p.Go(func() {
					begun++
					defer func() {
						deferred++
						p.Go(func() { t.Error("a dead process has started something") })
						if stop := p.After(0, func() { t.Error("a dead process has started a timer") }); stop() {
							t.Error("a timer of a dead process could be stopped")
						}
						p.Wait(tick)
						t.Error("a dead process has waited")
					}()
					for p.Wait(tick, never) == 0 {
						p.Sleep(time.Millisecond)
						tick <- struct{}{}
					}
				})
			}
		}
		outside := s.Process("outside")
		outside.Go(func() {
			for _, p := range live {
				outside.Sleep(3 * time.Millisecond)
				p.Kill()
				p.Kill()
			}
		})
		s.Run(func() bool { return false })
		s.Close()
		if f := s.failure; f != nil {
			t.Fatal(f)
		}
	}
	if deferred != begun || begun < 25_000 {
		t.Errorf("%d routines began, of %d the deferred calls ran", begun, deferred)
	}
}

func TestDeathByOwnHand(t *testing.T) {
	t.Parallel()
	s := NewScheduler(Seeded(3))
	defer s.Close()
	p, other := s.Process("p"), s.Process("other")
	p.Go(func() {
		p.Yield()
		p.Kill()
		t.Error("Kill() of the own process has returned")
	})
	p.Go(func() { p.Wait(nil) })
	alive := false
	other.Go(func() {
		other.Sleep(time.Second)
		alive = true
	})
	s.Run(func() bool { return false })
	if !p.dead || !alive || s.failure != nil {
		t.Errorf("dead = %v, the other continues = %v, failure %v", p.dead, alive, s.failure)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := NewScheduler(Seeded(5))
	defer s.Close()
	p, other := s.Process("p"), s.Process("other")
	var got []string
	p.Go(func() { got = append(got, "p") })
	p.paused = true
	other.Go(func() {
		other.Sleep(time.Minute)
		got = append(got, "other")
	})
	s.Run(func() bool { return false })
	if diff := cmp.Diff([]string{"other", "p"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
