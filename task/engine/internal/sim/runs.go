package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"a2a-server/task/engine"
)

// maxFailures is after how many failures [Seeds] stops.
const maxFailures = 8

// SeedFailure is a seed of a failed run.
type SeedFailure struct {
	Seed    uint64
	Failure *Failure
}

// Seeds plays n seeds, several at once, and returns the failures, in their order. It stops
// early after a few. Events are counted in cfg.Coverage.
func Seeds(cfg Config, from, n uint64, workers int) []SeedFailure {
	var (
		next   atomic.Uint64
		mu     sync.Mutex
		failed []SeedFailure
		wg     sync.WaitGroup
	)
	for range workers {
		wg.Go(func() {
			mine := cfg
			mine.Coverage, mine.Trace = NewCoverage(), nil
			defer func() { cfg.Coverage.Add(mine.Coverage) }()
			for {
				seed := from + next.Add(1) - 1
				if seed >= from+n {
					return
				}
				f, _ := Play(Seeded(seed), mine)
				mu.Lock()
				if f != nil {
					failed = append(failed, SeedFailure{seed, f})
				}
				enough := len(failed) >= maxFailures
				mu.Unlock()
				if enough {
					return
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(failed, func(a, b SeedFailure) int { return cmp.Compare(a.Seed, b.Seed) })
	return failed
}

// Smaller plays a seed that fails again, and makes it smaller in at most tries runs. It returns
// the smallest tape that fails in the same way, and how that fails.
func Smaller(cfg Config, seed uint64, tries int) (Tape, *Failure) {
	cfg.Coverage, cfg.Trace = nil, nil
	c := Seeded(seed)
	Play(c, cfg)
	return Shrink(c.Tape(), tries, func(t Tape) (*Failure, Tape) {
		r := Replayed(t)
		f, _ := Play(r, cfg)
		return f, r.Tape()
	})
}

// ExplainTape plays a tape, and returns it with its trace and its failure.
func ExplainTape(cfg Config, t Tape) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tape %s\n", t)
	cfg.Coverage = nil
	cfg.Trace = func(line string) {
		if !strings.Contains(line, " continues (") { // scheduling says little, and is most of it
			b.WriteString(line + "\n")
		}
	}
	if f, _ := Play(Replayed(t), cfg); f != nil {
		fmt.Fprintf(&b, "%v\n", f)
	}
	return b.String()
}

// Declared returns all events that have to come up in enough runs. points are the points at
// which the engine calls its hook.
func Declared(points []string) []string {
	var all []string
	for _, t := range AllTraits() {
		all = append(all, "tool "+t.Name())
	}
	for f := range forms {
		for _, w := range slices.Compact(slices.Sorted(slices.Values(waysOf[f]))) {
			all = append(all, fmt.Sprintf("%s tool %s", f, w))
		}
	}
	for d := range dialects {
		all = append(all, "dialect "+d.String())
	}
	for _, a := range actions {
		all = append(all, "action: "+a.name)
	}
	for _, way := range hookWayNames {
		all = append(all, "a webhook "+way)
	}
	for _, p := range points {
		all = append(all, "death at "+p)
	}
	for _, w := range wrongDecisions {
		all = append(all, "decision: wrong: "+w)
	}
	return append(all,
		"fault: process death", "fault: queued commits are lost", "fault: a commit is durable, its answer is lost",
		"fault: 2 processes at once", "fault: 3 processes at once", "fault: a process stands still", "fault: a client leaves its request",
		"fault: toolset failed", "fault: tool changed", "fault: tool gone",
		"refused: state", "refused: no room", "refused: a restored store", "a task waits for its turn", "a task says that it waits for its turn",
		"refused: APPROVAL_CHANGED", "refused: APPROVAL_CONFLICT", "refused: APPROVAL_EXPIRED", "refused: APPROVAL_MALFORMED",
		"refused: APPROVAL_NOT_ALLOWED", "refused: APPROVAL_UNKNOWN",
		"expiry: reject", "expiry: keep", "expiry: cancel",
		"approval.reminded", "approval.escalated",
		"a person votes", "a call runs after several votes", "an approval is asked anew",
		"a grant is made", "a call starts by a grant", "a revocation is acknowledged",
		"a call starts under other gates than it was asked under", "a grant of other gates answers nothing", "a gate denies a call",
		"decision: repeated", "decision: concurrent", "decision: contradictory",
		"decided: approve", "decided: edit", "decided: reject", "decided: respond", "decided: cancel",
		"planner asks", "planner waits", "planner fails", "awaited", "streamed", "canceled", "stopped",
		"a cancel of a call is acknowledged", "a canceled call ends: ok", "a canceled call ends: unknown", "a canceled call ends: canceled",
		"a reader leaves", "a reader comes back", "a reader comes back after a crash",
		"a checkpoint is kept", "a checkpoint is refused", "a call continues from its checkpoint",
		"a call sets the state of its context", "a call sees the state of its context", "the state of a context is full",
		"a call is held", "another process closes the question of a call", "a held call is told that there is no answer",
		"a held call does not wait any longer", "a held call is told to end",
		"a held call is told: responded", "a held call is told: rejected", "a held call is told: expired",
		"a tool looks after its work", "the outcome of a child is decided", "suspending tool slow",
		"a webhook is set", "a webhook is deleted", "a webhook is replaced", "a webhook is revived", "a webhook dies", "a notification is repeated",
		"a webhook is deleted or replaced while it is told",
		"a snapshot is written", "a call reports its progress", "a planner's text is replaced", "a suspended tool was rejected", "a task is brought up to date", "what was open before a restoration runs", "a restored store continues", "tool canceled by the id of its call",
	)
}

// DeclaredOfModel returns the events that runs with a language model have.
func DeclaredOfModel() []string {
	all := []string{"fault: process death", "fault: 2 processes at once", "a planner's text is replaced", "decided: approve", "decided: edit", "decided: reject", "canceled"}
	for _, way := range modelWayNames {
		all = append(all, "a model "+way)
	}
	return all
}

// Config configures a simulation.
type Config struct {
	// New returns an engine that runs on a process: required.
	New func(cfg engine.Config, p *Process) (*engine.Engine, error)
	// Coverage counts events. Defaults to a new Coverage.
	Coverage *Coverage
	// Trace, when set, gets each step as a line.
	Trace func(line string)
	// Actions bounds the actions of the world outside in a run. Defaults to 24.
	Actions int
	// Optimistic lets the engine enter read-only tools before their start is durable.
	Optimistic bool
	// Model has the planner ask a language model, which follows the plans' calls.
	Model bool
}

// Failure is why a run is wrong. Two runs fail in the same way when their failures
// have the same Rule.
type Failure struct {
	Rule   string // the broken rule, in a few words
	Detail string // how
	Step   int    // of the scheduler
}

// String returns the broken rule, when and how.
func (f *Failure) String() string { return fmt.Sprintf("%s (step %d): %s", f.Rule, f.Step, f.Detail) }
