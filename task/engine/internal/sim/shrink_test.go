package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bank is a toy with a race: a transfer reads a balance, lets others continue, and
// writes it. The script has many tellers that do harmless things, too.
func bank(c *Choices) (*Failure, []string) {
	s := NewScheduler(c)
	defer s.Close()
	var trace []string
	balance, deposited := 0, 0
	p := s.Process("bank")
	outside := s.Process("outside")
	outside.Go(func() {
		for range c.Choose(Script, 40) {
			switch c.Choose(Script, 4) {
			case 0:
				p.Go(func() { p.Sleep(time.Second) })
			case 1:
				amount := 1 + c.Choose(Script, 100)
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
	return s.failure, trace
}

func TestShrinkFindsTheCore(t *testing.T) {
	t.Parallel()
	tried := 0
	for seed := range uint64(40) {
		c := Seeded(seed)
		if f, _ := bank(c); f == nil {
			continue
		}
		tried++
		played := 0
		small, f := Shrink(c.Tape(), 2000, func(t Tape) (*Failure, Tape) {
			played++
			r := Replayed(t)
			f, _ := bank(r)
			return f, r.Tape()
		})
		_, trace := bank(Replayed(small))
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
	tape, f := Shrink(Seeded(1).Tape(), 10, func(t Tape) (*Failure, Tape) { return nil, t })
	if f != nil || tape.Len() != 0 {
		t.Errorf("Shrink() = %v, %v", tape, f)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	all := NewCoverage("cancel", "death", "expiry")
	one := NewCoverage()
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
