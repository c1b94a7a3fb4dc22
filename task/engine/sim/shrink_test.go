package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/task/engine/sim"
)

// bank is a toy with a race: a transfer reads a balance, lets others continue, and
// writes it. The script has many tellers that do harmless things, too.
func bank(c *sim.Choices) (*sim.Failure, []string) {
	s := sim.NewScheduler(c)
	defer s.Close()
	var trace []string
	balance, deposited := 0, 0
	p := s.Process("bank")
	outside := s.Process("outside")
	outside.Go(func() {
		for range c.Choose(sim.Script, 40) {
			switch c.Choose(sim.Script, 4) {
			case 0:
				p.Go(func() { p.Sleep(time.Second) })
			case 1:
				amount := 1 + c.Choose(sim.Script, 100)
				deposited += amount
				trace = append(trace, "deposit")
				p.Go(func() {
					was := balance
					p.Yield()
					balance = was + amount
				})
			case 2:
				outside.Idle()
			default:
				outside.Yield()
			}
		}
		outside.Idle()
		if balance != deposited {
			s.Fail("money is lost", "%d of %d", balance, deposited)
		}
	})
	s.Run(func() bool { return false })
	return s.Failure(), trace
}

func TestShrinkFindsTheCore(t *testing.T) {
	t.Parallel()
	tried := 0
	for seed := range uint64(40) {
		c := sim.Seeded(seed)
		if f, _ := bank(c); f == nil {
			continue
		}
		tried++
		played := 0
		small, f := sim.Shrink(c.Tape(), 2000, func(t sim.Tape) (*sim.Failure, sim.Tape) {
			played++
			r := sim.Replayed(t)
			f, _ := bank(r)
			return f, r.Tape()
		})
		_, trace := bank(sim.Replayed(small))
		if diff := cmp.Diff([]string{"deposit", "deposit"}, trace); f == nil || f.Rule != "money is lost" || diff != "" {
			t.Errorf("seed %d shrank from %d to %d choices after %d runs: %v (-want +got):\n%s", seed, c.Tape().Len(), small.Len(), played, f, diff)
		}
	}
	if tried < 10 {
		t.Errorf("%d of 40 seeds failed", tried)
	}
}

func TestShrinkOfWhatPasses(t *testing.T) {
	t.Parallel()
	tape, f := sim.Shrink(sim.Seeded(1).Tape(), 10, func(t sim.Tape) (*sim.Failure, sim.Tape) { return nil, t })
	if f != nil || tape.Len() != 0 {
		t.Errorf("Shrink() = %v, %v", tape, f)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	all := sim.NewCoverage("cancel", "death", "expiry")
	one := sim.NewCoverage()
	one.Count("death")
	one.Count("surprise")
	all.Add(one)
	all.Add(one)
	if diff := cmp.Diff([]string{"cancel", "expiry"}, all.Missing()); diff != "" {
		t.Errorf("Missing() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"surprise"}, all.Unknown()); diff != "" {
		t.Errorf("Unknown() (-want +got):\n%s", diff)
	}
	if got := all.String(); !strings.Contains(got, "2 death\n") {
		t.Errorf("String() = %q", got)
	}
}
