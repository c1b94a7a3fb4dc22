package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"a2a-server/internal/strictjson"
	"a2a-server/store"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// When a [tool.Poller] is polled, unless it says otherwise.
const (
	firstPoll    = time.Second
	maxPollPause = time.Minute
	jobDeadline  = 24 * time.Hour
)

// pollState is the state in the log of a call of a [tool.Poller]: the tool's state until its
// job is started, and the job from then on.
//
// A run with a job is a poll. The log says in the suspension before it that the call may be
// entered again whenever its process dies, so a crash repeats the poll with the same state.
type pollState struct {
	Poller int             `json:"poller"`         // version of this form
	Call   json.RawMessage `json:"call,omitempty"` // no job yet: the state that Call has kept
	Job    *job            `json:"job,omitempty"`
}

// job is a job that was started.
type job struct {
	State  json.RawMessage `json:"state"`
	Since  store.Millis    `json:"since"`
	Polls  int             `json:"polls,omitempty"`
	Pieces map[string]int  `json:"pieces,omitempty"` // as Run.chunks
	Pace   tool.Polling    `json:"pace,omitzero"`    // the tool's latest answer about its polls
}

const pollVersion = 1

// unescaped undoes the escapes that encoding/json adds in the log, so that a state does not grow
// when it is kept again. An escaped backslash begins no other escape.
var unescaped = strings.NewReplacer(
	`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029",
)

// encode returns k as the state of a call.
func (k pollState) encode() (json.RawMessage, error) {
	k.Poller = pollVersion
	raw := k.Call
	if k.Job != nil {
		raw = k.Job.State
	}
	switch {
	case len(raw) > tool.MaxJobState:
		return nil, fmt.Errorf("the state has %d bytes; at most %d can be kept", len(raw), tool.MaxJobState)
	case raw != nil && !json.Valid(raw):
		return nil, errors.New("the state is not JSON")
	}
	state, err := strictjson.Plain(k) // it keeps its size
	if err != nil {
		return nil, fmt.Errorf("encode the state of a job: %w", err)
	}
	return state, output.CheckDepth(state)
}

// decodePoll reads the state of a call. A state that a Poller has not written is its own.
func decodePoll(state json.RawMessage) pollState {
	var k pollState
	d := json.NewDecoder(strings.NewReader(unescaped.Replace(string(state))))
	d.DisallowUnknownFields()
	if d.Decode(&k) != nil || k.Poller != pollVersion {
		return pollState{Call: state}
	}
	return k
}

// as is [tool.As] for tools that may panic: a tool that panics has nothing.
func as[T any](t tool.Tool) (found T, has bool) {
	defer func() { _ = recover() }() // it is the tool's own code
	return tool.As[T](t)
}

// openJob prepares a run of a Poller: it takes the job out of the state of the call, and
// leaves the tool's own state. It returns an error if the tool is no Poller any more: the
// state of the job is then unknown, and another Call might do its work twice. A person may
// want that.
func (r *Run) openJob() error {
	r.poller, _ = as[tool.Poller](r.entry.Tool)
	if r.entry.Resumption == nil {
		return nil
	}
	k := decodePoll(r.entry.Resumption.State)
	if r.poller == nil {
		if k.Job == nil {
			return nil
		}
		if r.entry.Allowed {
			r.entry.Resumption = nil
			return nil
		}
		return errNoPoller
	}
	own := *r.entry.Resumption
	if own.State = k.Call; k.Job != nil {
		r.job, own.State = k.Job, k.Job.State
		r.reports.job = output.JobID(k.Job.State)
		r.chunks, r.text = maps.Clone(k.Job.Pieces), nil
		r.named = slices.DeleteFunc(slices.Sorted(maps.Keys(r.chunks)), func(name string) bool { return name == "" })
	}
	r.entry.Resumption = &own
	return nil
}

var errNoPoller = errors.New("the call has started a job, but its tool cannot be polled any more")

// polling returns when the tool wants to be polled. It calls the tool's own code, which
// may wait for a lock that a poll holds: it must be called in the tool's goroutine.
func (r *Run) polling() (p tool.Polling) {
	defer func() {
		_ = recover() // it is the tool's own code
		p = paced(p)
	}()
	if polled, ok := tool.As[tool.Polled](r.entry.Tool); ok {
		p = polled.Polling()
	}
	return p
}

// paced returns p with the defaults, and as timers are kept.
func paced(p tool.Polling) tool.Polling {
	for _, field := range []struct {
		is *time.Duration
		to time.Duration
	}{{&p.First, firstPoll}, {&p.Max, maxPollPause}, {&p.Deadline, jobDeadline}} {
		if *field.is <= 0 {
			*field.is = field.to
		}
		*field.is = max(field.is.Truncate(time.Millisecond), time.Millisecond)
	}
	p.Max = max(p.Max, p.First)
	return p
}

// later suspends the call until the next poll of a job, or until wake if that is set, but
// not past the job's deadline. r.mu must be held.
func (r *Run) later(j job, wake time.Time) (*tool.Suspension, error) {
	p := paced(j.Pace)
	deadline := j.Since.Time().Add(p.Deadline)
	if wake.IsZero() {
		pause := p.First
		for n := j.Polls; n > 0 && pause < p.Max; n-- {
			pause *= 2
		}
		wake = r.runs.Env.Now().Add(min(pause, p.Max))
	}
	if wake.After(deadline) {
		wake = deadline
	}
	j.Pieces = r.chunks
	state, err := pollState{Job: &j}.encode()
	if err != nil {
		return nil, err
	}
	return &tool.Suspension{Wake: wake, State: state}, nil
}

// suspends is later as the error that a run returns.
func (r *Run) suspends(j job, wake time.Time, asks []tool.Question) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.later(j, wake)
	if err != nil {
		return err
	}
	s.Asks = asks
	return s
}

// putOff is the outcome of a failed attempt to poll: the next poll is later. r.mu must be
// held.
func (r *Run) putOff() *rules.RunEnded {
	j := *r.job
	if j.Polls++; r.kept != nil {
		j.State = r.kept
	}
	o := &rules.RunEnded{Entry: r.entry, Output: r.output, Keeps: true, Stop: true}
	if o.Err = r.overdue(j); o.Err == nil {
		o.Suspension, o.Err = r.later(j, time.Time{})
	}
	return o
}

// startJob runs the Call of a Poller, and suspends the call with the job that it started.
func (r *Run) startJob(x *toolContext) *rules.RunEnded {
	o := r.invoke(x)
	if doubts(o.Err) {
		return o
	}
	if s, ok := errors.AsType[*tool.Suspension](o.Err); ok {
		o.Err = ownSuspension(s)
	}
	if o.Err != nil || r.asking() {
		return o
	}
	started := job{State: o.Result, Since: store.MillisOf(r.runs.Env.Now()), Pace: r.polling()}
	err := r.suspends(started, time.Time{}, nil)
	if _, ok := err.(*tool.Suspension); !ok { //nolint:errorlint // it is made here
		return &rules.RunEnded{Err: fmt.Errorf("the job was started, but its id cannot be stored: %w", err)}
	}
	r.started = true
	r.reportJob(started.State)
	return &rules.RunEnded{Err: err}
}

// doubts reports whether an error says that it is unknown whether the call had its effect.
// That comes before whatever else it says.
func doubts(err error) bool { return err != nil && errors.Is(err, tool.ErrOutcomeUnknown) }

// ownSuspension is a suspension by the Call of a Poller.
func ownSuspension(s *tool.Suspension) error {
	own := *s
	own.Watch = false // its state is wrapped
	if s.State == nil {
		return &own
	}
	var err error
	if own.State, err = (pollState{Call: s.State}).encode(); err != nil {
		return fmt.Errorf("the tool wants to keep a state while it is suspended: %w", err)
	}
	return &own
}

// wrap returns the state of the call with a state that the running tool wants to keep.
func (r *Run) wrap(state json.RawMessage) (json.RawMessage, error) {
	switch {
	case r.poller == nil, !json.Valid(state):
		return state, nil // of the latter, the checkpoint says so
	case r.job == nil:
		return pollState{Call: state}.encode()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	j := *r.job
	j.State, j.Pieces = state, r.chunks
	return pollState{Job: &j}.encode()
}

// asking reports whether the tool has asked a question that is undecided, so that its result
// is discarded.
func (r *Run) asking() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asks) > 0
}

// poll asks about the job of a call once.
func (r *Run) poll(x *toolContext) *rules.RunEnded {
	j := *r.job
	j.Pace = r.polling()
	if len(r.entry.Resumption.Answers) > 0 { // the status of the question has replaced the progress
		r.reportJob(j.State)
	}
	result, state, err := r.poller.Poll(x, j.State)
	j.Polls++
	r.mu.Lock()
	if r.kept != nil {
		j.State = r.kept
	}
	r.mu.Unlock()
	if doubts(err) {
		return &rules.RunEnded{Err: err}
	}
	if s, ok := errors.AsType[*tool.Suspension](err); ok || r.asking() {
		return &rules.RunEnded{Err: r.pollAsks(j, s)}
	}
	switch {
	case err == nil:
	case errors.Is(err, tool.ErrTryAgain), errors.Is(context.Cause(x), errToolTimeout):
		return &rules.RunEnded{Err: r.notYet(j)}
	default:
		return &rules.RunEnded{Err: err}
	}
	if state != nil {
		j.State = state
	}
	switch {
	case result == nil:
	case result.Streaming:
		if err := r.publishChunk(result); err != nil && !errors.Is(context.Cause(x), errToolTimeout) {
			return &rules.RunEnded{Err: err}
		}
	default:
		r.done = true
		o := &rules.RunEnded{Err: r.final(result), Replace: result.Replace}
		if o.Err == nil {
			o.Result, o.Parts, o.Err = r.publish.Result(result.Content, r.runs.Env.Limits.Result())
		}
		return o
	}
	return &rules.RunEnded{Err: r.notYet(j)}
}

// pollAsks suspends the call with the questions of a poll. s may be nil.
func (r *Run) pollAsks(j job, s *tool.Suspension) error {
	if err := r.overdue(j); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asks = nil // without a wait for the answer
		return err
	}
	if s == nil {
		s = &tool.Suspension{}
	}
	if s.State != nil {
		j.State = s.State
	}
	wake := s.Wake
	if wake.IsZero() { // until it is answered
		wake = j.Since.Time().Add(paced(j.Pace).Deadline)
	}
	return r.suspends(j, wake, s.Asks)
}

// notYet suspends the call until the next poll, if any.
func (r *Run) notYet(j job) error {
	if err := r.overdue(j); err != nil {
		return err
	}
	return r.suspends(j, time.Time{}, nil)
}

// overdue returns the error of a call whose job is not done at its deadline: the poll at that
// time is the last. It is nil before.
func (r *Run) overdue(j job) error {
	limit := paced(j.Pace).Deadline
	if r.runs.Env.Now().Before(j.Since.Time().Add(limit)) {
		return nil
	}
	what := "is stopped"
	if _, stops := as[tool.JobStopper](r.entry.Tool); !stops {
		what = "cannot be stopped by this server"
	}
	return fmt.Errorf("the job has not ended within %v, and %s", limit, what)
}
