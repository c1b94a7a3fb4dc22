// Package call runs tools: a [Run] is one execution of a call, with its tool's context, output,
// checkpoints, reports and questions. It hands over what the tool does to the call's turn, which
// it knows as a [Seat], and writes nothing.
package call

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
	"a2a-server/tool/agent"
)

// Config configures Runs.
type Config struct {
	Env       *env.Env
	Reader    *tasklog.Reader
	Presenter task.Presenter
	Memory    agent.Memory // the memories that SearchMemory searches; nil: see Rank
	Rank      task.Ranking // of the caller's earlier tasks, without Memory; nil: SearchMemory fails
	WholeText bool         // a stream of text ends with the whole text in place of its chunks, if it fits into an event

	// Late records the result of a run whose turn is over.
	Late func(id store.TaskID, o *rules.RunEnded)
}

// Runs is what the runs of an engine share. It is safe for concurrent use.
type Runs struct {
	Config
	active    env.Group             // runs that were not given up, for which a stop waits for a bounded time
	abandoned *share.Shares[string] // runs that do not end after they were told to, by tool
	looks     *share.Shares[string] // looks at suspended calls that have not returned, by tool
	looking   sync.Mutex            // held while a look takes its place
	held      heldCalls
}

// New returns Runs without any.
func New(cfg Config) *Runs {
	c := &Runs{
		Config:    cfg,
		abandoned: share.New[string](math.MaxInt64, math.MaxInt64), looks: share.New[string](math.MaxInt64, maxLooks),
	}
	c.held.init(&c.Env.Limits)
	return c
}

// None returns a channel that is closed when no tool runs, apart from those given up.
func (c *Runs) None() <-chan struct{} { return c.active.None() }

// Held returns [rules.At].Holds for a task with a fence.
func (c *Runs) Held(fence uint64) func(approval string) bool { return c.held.by(fence) }

// New returns a run of a call for a seat; f is the fold of its task. Call [Run.Start] once the
// start of the call is durable.
func (c *Runs) New(seat *Seat, f *fold.Fold, entry *rules.Execution) *Run {
	r := &Run{runs: c, entry: entry, seat: seat, output: entry.Output, publish: f.Publisher(c.Presenter, c.Env.Limits.Event)}
	if c.WholeText {
		r.text = &strings.Builder{}
	}
	return r
}

// Seat is what the runs of a turn see of it: whose task it is, how much they may still hand
// over, and how to tell the turn that there is something to take. It is safe for concurrent use.
type Seat struct {
	Task  store.TaskID
	Owner store.Scope

	Changed atomic.Bool   // another writer has changed the log
	Wake    chan struct{} // signaled when Changed is set, or when a run has chunks or an outcome
	Size    atomic.Int64  // bytes of the log, including chunks handed over by runs
	Open    atomic.Int64  // size of the log up to which runs may hand over more
}

// Notify tells the turn that another writer has changed the log.
func (s *Seat) Notify() {
	s.Changed.Store(true)
	env.Signal(s.Wake)
}
