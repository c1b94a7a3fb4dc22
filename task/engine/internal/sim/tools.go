package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"a2a-server/tool"
)

// Way is how a run of a tool goes.
type Way int

// The ways. Each form has some of them.
const (
	Result         Way = iota // returns a result at once
	Fails                     // returns an error
	Panics                    //
	Slow                      // takes some milliseconds, and ends with its context
	Blocks                    // until it is released or its context ends
	Late                      // until it is released, whatever its context says
	EmptyStream               // yields nothing but its result
	BadPiece                  // yields a piece that is an error
	AsksConfirm               // suspends itself with a question for confirmation
	AsksQuestion              // … with one that is answered in words
	AsksForm                  // … with one that has a schema
	AsksAuth                  // … with one that is answered elsewhere
	AsksTwo                   // … with two
	AsksBadly                 // … with a good one, and with one that cannot be asked
	AsksOrTimer               // … with one, and a timer
	Sleeps                    // suspends itself until a time
	Confirms                  // tool.RequestConfirmation
	ConfirmsTwo               // twice
	AsksAndGoes               // asks for confirmation and returns a result nevertheless
	SuspendsEver              // suspends itself with neither a question nor a timer
	Looks                     // asks, and looks after its work a few times while the question is open
	Unsure                    // does not know its outcome
	Keeps                     // keeps its progress, and returns a result
	KeepsAndBlocks            // … and blocks after that
	KeepsAndAsks              // … and suspends itself with a question
	KeepsLate                 // … and once more when it is released, whatever its context says
	KeepsUnsure               // … and does not know the outcome of the rest
	Sets                      // sets some of the state of its context
	SetsMuch                  // … that takes a good part of the room
	SetsTooMuch               // … more than there is ever room for
	SetsAndFails              // … and returns an error
	SetsAndAsks               // … and suspends itself with a question
	SetsLate                  // … when it is released, whatever its context says
	Waits                     // asks a question while it runs, and waits for the answer
	WaitsForForm              // … one that has a schema
	WaitsForAuth              // … one that is answered elsewhere
	WaitsTwice                // … two, one after the other
	WaitsBadly                // … one that cannot be asked
	WaitsBriefly              // … and not for long
	WaitsAndAsks              // … and suspends itself with another one
	WaitsUnsure               // … and does not know its outcome
	WaitsLate                 // … when it is released, whatever its context says
	AsksAsChild               // asks as a call of a remote agent does, whose outcome gets unknown
)

var wayNames = [...]string{
	"result", "fails", "panics", "slow", "blocks", "late", "empty stream", "bad piece", "asks for confirmation", "asks a question",
	"asks for a form", "asks for authorisation", "asks two questions", "asks a bad question", "asks, or a timer", "sleeps",
	"requests confirmation", "requests confirmation twice", "asks and returns a result", "suspends forever", "looks after its work",
	"is unsure", "keeps", "keeps and blocks", "keeps and asks", "keeps late", "keeps and is unsure",
	"sets", "sets much", "sets too much", "sets and fails", "sets and asks", "sets late",
	"waits", "waits for a form", "waits for authorisation", "waits twice", "waits badly", "waits briefly", "waits and asks",
	"waits and is unsure", "waits late", "asks as a child does",
}

// String returns the name of a way.
func (w Way) String() string { return wayNames[w] }

// waysOf are the ways of each form, the tamest first.
var waysOf = [forms][]Way{
	Plain:      {Result, Result, Slow, Fails, Panics, Blocks, Late, Unsure},
	Streaming:  {Result, Result, Slow, EmptyStream, Fails, Panics, Blocks, Late, BadPiece, Sleeps, AsksConfirm, Unsure},
	Suspending: {AsksConfirm, AsksQuestion, AsksForm, AsksAuth, AsksTwo, AsksBadly, AsksOrTimer, Sleeps, Confirms, ConfirmsTwo, AsksAndGoes, SuspendsEver, Looks, Result, Fails, AsksAsChild, AsksAsChild},
	Long:       {Slow, Blocks, Late, Result, Fails, Unsure},
	Keeping:    {Keeps, Keeps, KeepsAndBlocks, KeepsAndBlocks, KeepsAndAsks, KeepsLate, KeepsUnsure, Result, Fails},
	Sharing:    {Sets, Sets, Sets, SetsMuch, SetsMuch, SetsTooMuch, SetsAndFails, SetsAndAsks, SetsLate, Result},
	Asking:     {Waits, Waits, Waits, WaitsForForm, WaitsForAuth, WaitsTwice, WaitsBadly, WaitsBriefly, WaitsAndAsks, WaitsUnsure, WaitsLate, Result, Fails},
}

var (
	errTool = errors.New("the tool says no")
	errBody = errors.New("the tool was told to end")
)

// simTool is a tool of some traits. It is never handed out itself.
type simTool struct {
	b       *Toolbox
	p       *Process // nil: it is only looked at
	traits  Traits
	version int
}

// The tools as they are handed out: with the interfaces of their form and no more.
type (
	plainTool  struct{ simTool }
	streamTool struct{ simTool }
	longTool   struct{ plainTool }
)

var (
	_ tool.CallableTool    = (*plainTool)(nil)
	_ tool.StreamingTool   = (*streamTool)(nil)
	_ tool.CancellableTool = (*longTool)(nil)
	_ tool.Annotated       = (*plainTool)(nil)
)

func (b *Toolbox) tool(p *Process, t Traits, version int) tool.Tool {
	base := simTool{b, p, t, version}
	switch t.Form {
	case Streaming:
		return &streamTool{base}
	case Long:
		return &longTool{plainTool{base}}
	case Plain, Suspending, Keeping, Sharing, Asking, forms:
	}
	return &plainTool{base}
}

func (t *simTool) Name() string { return t.traits.Name() }
func (t *simTool) Description() string {
	return fmt.Sprintf("a tool of the simulation, version %d", t.version)
}
func (t *simTool) IsLongRunning() bool           { return t.traits.Form == Long }
func (t *simTool) RequiresApproval() bool        { return t.traits.Gated }
func (t *simTool) Annotations() tool.Annotations { return t.traits.Annotations() }

var (
	schemaOfN = object("n")
	schemaOfM = object("m")
)

func object(property string) map[string]any {
	return map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": map[string]any{property: map[string]any{"type": "integer"}},
		"required":   []any{property},
	}
}

// Schema takes an integer n; of every third version m.
func (t *simTool) Schema() map[string]any {
	if t.version%3 == 2 {
		return schemaOfM
	}
	return schemaOfN
}

// Call runs the tool.
func (t *plainTool) Call(ctx tool.Context, args map[string]any) (result map[string]any, err error) {
	r := t.enter(ctx, args)
	defer t.leave(ctx, r, &err)
	return t.run(ctx, r)
}

// SupportsCancellation returns true.
func (t *longTool) SupportsCancellation() bool { return true }

// Cancel releases the call, if it runs.
func (t *longTool) Cancel(callID string) bool {
	for i, w := range t.b.blocked {
		if w.p == t.p && w.run.Call == callID && w.run.Way != Late {
			t.b.coverage.Count("tool canceled by the id of its call")
			t.b.Release(i)
			return true
		}
	}
	return false
}

// CallStreaming runs the tool.
func (t *streamTool) CallStreaming(ctx tool.Context, args map[string]any) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) {
		r := t.enter(ctx, args)
		var err error
		defer t.leave(ctx, r, &err)
		pieces := 0
		if r.Way != EmptyStream {
			pieces = t.choose(r, 6)
		}
		large := t.rarely(r, 5)
		for i := range pieces {
			content := fmt.Sprintf("run %d piece %d;", r.N, i)
			if large {
				content = strings.Repeat(content, 400) // a task of a few of them gets a snapshot
			}
			if !yield(&tool.Result{Content: content, Streaming: true}, nil) {
				err = errBody
				return
			}
			t.report(ctx, r)
			if t.rarely(r, 3) {
				t.p.Sleep(time.Millisecond)
			}
		}
		if r.Way == BadPiece {
			err = errTool
			if yield(&tool.Result{Error: "a bad piece", Streaming: true}, nil) { // a partial failure
				yield(&tool.Result{Error: "a bad result"}, nil)
			}
			return
		}
		var result map[string]any
		if result, err = t.run(ctx, r); err != nil {
			yield(nil, err)
			return
		}
		yield(&tool.Result{Content: result}, nil)
	}
}

// enter notes that the tool is entered, and chooses which way that goes.
func (t *simTool) enter(ctx tool.Context, args map[string]any) *Run {
	raw := mustJSON(args)
	t.b.s.choices.Lane(Outcomes, len(t.b.Ledger.Runs)+1)
	way := Pick(t.b.s.choices, Outcomes, waysOf[t.traits.Form]...)
	if again, ok := tool.Resumed(ctx); t.traits.Form == Keeping {
		way = t.keepingWay(ctx, way)
	} else if ok && len(again.State) > 2 {
		way = Pick(t.b.s.choices, Outcomes, Result, Result, Result, Fails, Slow) // it has been suspended twice
	}
	r := t.b.Ledger.enter(t.p, t, ctx, string(raw), way)
	t.b.s.Note("%s run %d of %s, call %s of %s, entry %d: %s", t.p.name, r.N, t.Name(), r.Call, short(r.Task), r.Entry, way)
	t.b.coverage.Count("tool " + t.Name())
	t.b.coverage.Count(fmt.Sprintf("%s tool %s", t.traits.Form, way))
	if t.b.Entered != nil {
		t.b.Entered(r)
	}
	return r
}

// choose chooses something of a run.
func (t *simTool) choose(r *Run, n int) int {
	t.b.s.choices.Lane(Outcomes, r.N)
	return t.b.s.choices.Choose(Outcomes, n)
}

func (t *simTool) rarely(r *Run, n int) bool { return t.choose(r, n) == n-1 }

// leave notes that the tool returns. A routine that ends because its process has died
// does not return.
func (t *simTool) leave(ctx context.Context, r *Run, err *error) {
	if t.p.dead {
		return
	}
	r.Returned, r.CutOff = true, ctx.Err() != nil
	if r.Way != Panics {
		r.Err = *err
	}
	var pause *tool.Suspension
	r.Paused = errors.As(*err, &pause)
	t.b.s.Note("%s run %d returns: %v", t.p.name, r.N, *err)
}

func short(task string) string { return task[max(0, len(task)-4):] }

// done changes the world, and returns a result that says so.
func (r *Run) done() (map[string]any, error) {
	r.Effect = true
	r.Result = true
	return map[string]any{"run": r.N}, nil
}

// report says how far the run is, now and then, and sometimes again a moment later.
func (t *simTool) report(ctx context.Context, r *Run) {
	if t.p.dead || !t.rarely(r, 4) {
		return
	}
	r.Reports++
	tool.Report(ctx, tool.Progress{Done: float64(r.Reports), Message: fmt.Sprintf("run %d", r.N)})
	if t.rarely(r, 4) {
		t.p.Sleep(100 * time.Millisecond)
	}
}

// run goes r's way.
func (t *simTool) run(ctx tool.Context, r *Run) (map[string]any, error) {
	t.report(ctx, r)
	defer t.report(ctx, r) // also when it was told to end meanwhile
	switch r.Way {         //nolint:exhaustive // the others suspend
	case Unsure:
		return t.unsure(r)
	case Keeps, KeepsAndBlocks, KeepsAndAsks, KeepsLate, KeepsUnsure:
		return t.keep(ctx, r)
	case Sets, SetsMuch, SetsTooMuch, SetsAndFails, SetsAndAsks, SetsLate:
		return t.share(ctx, r)
	case Waits, WaitsForForm, WaitsForAuth, WaitsTwice, WaitsBadly, WaitsBriefly, WaitsAndAsks, WaitsUnsure, WaitsLate:
		return t.wait(ctx, r)
	case Result, EmptyStream:
		if t.rarely(r, 4) {
			r.Effect = true // it takes effect, and dies before it can say so
			t.p.Yield()
		}
		return r.done()
	case Fails, BadPiece:
		return nil, errTool
	case Panics:
		r.Err = errTool
		panic("the tool broke")
	case Slow:
		return t.slow(ctx, r)
	case Blocks:
		r.Effect = t.rarely(r, 2)
		if t.b.block(ctx, t.p, r, true /* heeds */) {
			return nil, r.stopped(ctx)
		}
		return r.done()
	case Late:
		r.Effect = t.rarely(r, 2)
		t.b.block(ctx, t.p, r, false /* heeds */)
		return r.done()
	default:
		return t.suspend(ctx, r)
	}
}

// slow takes up to some milliseconds.
func (t *simTool) slow(ctx context.Context, r *Run) (map[string]any, error) {
	over := make(chan struct{})
	stop := t.p.After(time.Duration(1+t.choose(r, 400))*time.Millisecond, func() { close(over) })
	if t.p.Wait(over, ctx.Done()) == 1 {
		stop()
		return nil, r.stopped(ctx)
	}
	return r.done()
}

// stopped returns the error of a run that was told to end. It says that it had no effect if
// that is so, and no run before it was suspended.
func (r *Run) stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if r.Effect || r.Resumed {
		return cause
	}
	r.NoEffect = true
	return fmt.Errorf("%w: %w", cause, tool.ErrNoEffect)
}

// suspend goes the ways that pause. An answered question is not asked again.
func (t *simTool) suspend(ctx tool.Context, r *Run) (map[string]any, error) {
	if r.Way == Confirms || r.Way == ConfirmsTwo || r.Way == AsksAndGoes {
		return t.confirm(ctx, r)
	}
	if r.Way == AsksAsChild {
		return t.child(ctx, r)
	}
	if again, ok := tool.Resumed(ctx); ok {
		for _, a := range again.Answers {
			if a.State == tool.AnswerRejected {
				t.b.coverage.Count("a suspended tool was rejected")
				return nil, tool.ErrConfirmationRejected
			}
		}
		switch {
		case r.Way == Looks && len(again.Answers) == 0 && len(again.State) < 4:
			t.b.coverage.Count("a tool looks after its work")
			if t.choose(r, 2) == 1 {
				t.b.block(ctx, t.p, r, true /* heeds */)
			}
		case r.Way != Sleeps || len(again.State) > 1:
			return r.done()
		}
	}
	s := &tool.Suspension{State: json.RawMessage("1")}
	if again, ok := tool.Resumed(ctx); ok {
		s.State = json.RawMessage(string(again.State) + "1")
	}
	confirm := tool.Question{Kind: tool.AskConfirm, Hint: "continue?", Payload: map[string]any{"n": 1}}
	question := tool.Question{Kind: tool.AskQuestion, Hint: "which one?"}
	wake := t.p.Now().Add(time.Duration(1+t.choose(r, 100)) * time.Millisecond)
	switch r.Way { //nolint:exhaustive // the others do not suspend
	case AsksConfirm:
		s.Asks = []tool.Question{confirm}
	case AsksQuestion:
		s.Asks = []tool.Question{question}
	case AsksForm:
		s.Asks = []tool.Question{{Kind: tool.AskForm, Hint: "fill in", Schema: schemaOfN}}
	case AsksAuth:
		s.Asks = []tool.Question{{Kind: tool.AskAuth, Hint: "log in"}}
	case AsksTwo:
		s.Asks = []tool.Question{confirm, question}
	case AsksBadly:
		s.Asks = []tool.Question{confirm, {Kind: tool.AskForm, Hint: "a form without a schema"}}
	case AsksOrTimer:
		s.Asks, s.Wake = []tool.Question{question}, wake
	case Looks:
		s.Asks, s.Wake = []tool.Question{{ID: "q", Kind: tool.AskQuestion, Hint: "which one?"}}, wake
	case Sleeps:
		s.Wake = wake
	}
	return nil, s
}

// confirm asks by tool.RequestConfirmation.
func (t *simTool) confirm(ctx tool.Context, r *Run) (map[string]any, error) {
	questions := 1
	if r.Way == ConfirmsTwo {
		questions = 2
	}
	for i := range questions {
		err := tool.RequestConfirmation(ctx, fmt.Sprintf("really %d?", i), map[string]any{"n": i})
		switch {
		case err == nil:
		case r.Way == AsksAndGoes && errors.Is(err, tool.ErrConfirmationRequired):
			return map[string]any{"run": r.N, "discarded": true}, nil
		default:
			return nil, err
		}
	}
	return r.done()
}

// child asks what a child asks, and looks after the child from time to time: whether its call may run, then
// twice for the outcome. Only the first of the outcomes takes a response.
func (t *simTool) child(ctx tool.Context, r *Run) (map[string]any, error) {
	answered := 0
	if again, ok := tool.Resumed(ctx); ok {
		_ = json.Unmarshal(again.State, &answered) // none after a checkpoint, which this tool does not keep
		for _, a := range again.Answers {
			if a.Ask.Kind == tool.AskOutcome {
				t.b.coverage.Count("the outcome of a child is decided")
			}
			if answered++; a.State == tool.AnswerRejected || a.State == tool.AnswerExpired {
				return nil, tool.ErrConfirmationRejected
			}
		}
	}
	if answered > 2 {
		return r.done()
	}
	ask := tool.Question{ID: fmt.Sprint("child:a", answered), Kind: tool.AskConfirm, Hint: "may it run?", Payload: map[string]any{"n": 1}}
	if answered > 0 {
		ask.Kind, ask.TakesResponse = tool.AskOutcome, answered == 1
	}
	return nil, &tool.Suspension{
		Asks: []tool.Question{ask}, Wake: t.p.Now().Add(time.Duration(1+t.choose(r, 100)) * time.Millisecond), State: fmt.Append(nil, answered),
	}
}
