package sim

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// sentMessage is a message that makes a task, with its answer.
type sentMessage struct {
	m    *a2a.Message
	by   auth.Principal
	hook *engine.PushConfig // nil: none is set with it
	task store.TaskID       // zero: unknown
}

var errLeft = errors.New("the client has gone")

// request runs f in a server, as a request of a client, which may lose patience.
func (w *world) request(v *server, f func(ctx context.Context)) {
	ctx, leave := context.WithCancelCause(context.Background())
	over := make(chan struct{})
	v.p.Go(func() {
		f(ctx)
		close(over)
		leave(nil)
	})
	if w.choices.Rarely(Script, 8) {
		w.coverage.Count("fault: a client leaves its request")
		patience := w.choices.Choose(Script, 30)
		w.outside.Go(func() {
			for range patience {
				w.outside.Yield()
			}
			select {
			case <-over:
			default:
				leave(errLeft)
			}
		})
	}
}

// attempt makes a request that may be refused, but not for want of a turn. acked is called when
// it was accepted.
func (w *world) attempt(v *server, what string, f func(ctx context.Context) error, acked func()) {
	w.request(v, func(ctx context.Context) {
		if err := f(ctx); err != nil {
			w.needsNoRoom(what, err)
			w.refused(ctx, what, err)
			return
		}
		acked()
	})
}

// send sends a message that makes a task, maybe not for the first time, and reads the outcome.
func (w *world) send(v *server, sent *sentMessage, mode int) {
	m := *sent.m
	w.request(v, func(ctx context.Context) {
		got, err := v.engine.Send(ctx, engine.Send{By: sent.by, Message: &m, Push: sent.hook})
		if err != nil {
			w.refused(ctx, "send", err)
			return
		}
		if got.Direct != nil {
			w.s.Fail("a message with a plan makes a task", "%s was answered directly", m.ID)
			return
		}
		t := w.model.tasks[got.Task]
		if t == nil {
			w.s.Fail("what is acknowledged is durable", "message %s made task %s, which is not", m.ID, got.Task)
			return
		}
		if !sent.task.IsZero() && sent.task != got.Task {
			w.s.Fail("a message makes one task", "%s made %s, and then %s", m.ID, sent.task, got.Task)
		}
		if !slices.Contains(w.known, t) {
			w.known = append(w.known, t)
		}
		sent.task = got.Task
		w.await(ctx, v, got, mode)
	})
}

// Ways to read the outcome of a message.
const (
	modeNone   = iota // not at all
	modeAwait         // until the task rests
	modeStream        // as a stream

	modes
)

// await reads the outcome of a message.
func (w *world) await(ctx context.Context, v *server, sent *engine.Sent, mode int) {
	switch mode {
	case modeAwait:
		a := v.engine.ReserveRead(alice)
		defer a.Release()
		view, err := a.Await(ctx, sent)
		if err != nil {
			w.refused(ctx, "await", err)
			return
		}
		w.coverage.Count("awaited")
		if s := view.State(); !s.Terminal() && s != a2a.TaskStateInputRequired && s != a2a.TaskStateAuthRequired {
			w.s.Fail("a blocking message is answered at a rest", "in state %s", s)
		}
	case modeStream:
		c := w.newClient(sent.Task)
		c.at, c.reading = v, true
		defer func() { c.reading = v.p.dead }()
		begin := func(first *engine.StreamStart) error {
			if first != nil {
				c.seq, c.pub = first.Header.Seq, first.Header.Pub // of the task as it stood
			}
			return nil
		}
		rest, err := v.engine.Stream(ctx, w.model.tasks[sent.Task].owner, sent, begin)
		if err == nil {
			err = rest.Follow(ctx, c.yield(v))
		}
		if err != nil {
			w.refused(ctx, "stream", err)
			return
		}
		w.coverage.Count("streamed")
	}
}

// followUp sends a message to a task. acked is called when it was accepted.
func (w *world) followUp(v *server, m *a2a.Message, mode int, acked func()) {
	w.say(v, m, mode, false /* decides */, acked)
}

// say is followUp; decides: the message is a decision, whatever the task waits for.
func (w *world) say(v *server, m *a2a.Message, mode int, decides bool, acked func()) {
	id, _ := store.ParseTaskID(string(m.TaskID))
	w.request(v, func(ctx context.Context) {
		sent, err := v.engine.Send(ctx, engine.Send{By: w.model.tasks[id].owner, Message: m})
		if err != nil {
			if decides {
				w.needsNoRoom("a decision", err)
			}
			w.refused(ctx, "follow-up", err)
			return
		}
		if acked != nil {
			acked()
		}
		w.await(ctx, v, sent, mode)
	})
}

// refused checks the reason for a refused request: it has to be a reason that clients are told
// of.
func (w *world) refused(ctx context.Context, what string, err error) {
	var state *task.StateError
	var invalid *task.InvalidError
	var decision *approval.Error
	switch {
	case ctx.Err() != nil, errors.Is(err, engine.ErrBusy) && !noRoom(err), errors.Is(err, task.ErrTaskNotFound), errors.Is(err, errToolsetDown):
	case noRoom(err):
		w.coverage.Count("refused: no room")
	case errors.As(err, &decision):
		w.coverage.Count("refused: " + string(decision.Reason))
	case errors.As(err, &state):
		w.coverage.Count("refused: state")
	case errors.As(err, &invalid):
		w.coverage.Count("refused: invalid")
	case errors.Is(err, store.ErrUnavailable) && w.model.everRestored:
		w.coverage.Count("refused: a restored store")
	default:
		w.s.Fail("a request is refused for a reason that is told", "%s: %v", what, err)
	}
	w.s.Note("%s is refused: %v", what, err)
}

// noRoom reports whether a request was refused because too many tasks wait for a turn.
func noRoom(err error) bool {
	var busy *engine.BusyError
	return errors.As(err, &busy) && strings.Contains(busy.Why, "wait for a turn")
}

// needsNoRoom fails the run when something was refused for want of room that never is.
func (w *world) needsNoRoom(what string, err error) {
	if noRoom(err) {
		w.s.Fail("what needs no turn is not refused for want of one", "%s: %v", what, err)
	}
}

// idle waits until nothing is running. Then no task waits for a turn while there is room.
func (w *world) idle() {
	w.outside.Idle()
	for p, all := range w.model.gates { // no process that runs works on a batch: each has seen its newest gates
		if !p.paused && len(all) > 1 {
			w.model.gates[p] = all[len(all)-1:]
		}
	}
	for _, t := range w.model.order {
		// A turn that another process cannot tell has not seen that process's decision.
		if t.runner != nil && !t.untold && !t.runner.dead && !t.runner.paused && !w.stopped(t.runner) {
			w.model.heldWaits(t)
		}
	}
	for _, v := range w.servers {
		all := v.engine.Load()
		for _, by := range []auth.Principal{alice, carol} {
			its := v.engine.LoadOf(by)
			if its.Waiting == 0 {
				continue
			}
			w.coverage.Count("a task waits for its turn")
			counts := func(l engine.Load, most int) bool { return l.Turns-min(l.Long, 4*most) >= most }
			if !counts(all, w.limits.Turns) && !counts(its, min(w.limits.TurnsPerCaller, w.limits.Turns)) {
				w.s.Fail("nobody waits for a turn while there is room", "%s: of all %+v, of %s %+v", v.p.name, all, by.Subject, its)
			}
		}
	}
}

// decide sends a decision. It is acknowledged only when it is durable, and stays.
func (w *world) decide(v *server, t *modelTask, d Dialect, verdicts ...*verdict) {
	by := t.owner
	if d == API {
		by = deciderIn(w)
	}
	acked := func() {
		for _, x := range verdicts {
			w.acknowledged(t, x, d, by)
		}
	}
	w.coverage.Count("dialect " + d.String())
	if d == API {
		answers := make([]approval.Decision, len(verdicts))
		for i, x := range verdicts {
			answers[i] = x.answer()
		}
		w.attempt(v, "a decision", func(ctx context.Context) error {
			_, err := v.engine.Approvals().DecideAll(ctx, by, answers)
			return err
		}, acked)
		return
	}
	m := w.messageTo(t)
	for _, x := range verdicts {
		if !x.say(m, d, nil) {
			return
		}
	}
	w.say(v, m, w.choices.Choose(Script, modes), d != Keyword, acked)
}

// acknowledged checks that an acknowledged decision is in the log.
func (w *world) acknowledged(t *modelTask, x *verdict, d Dialect, by auth.Principal) {
	a := t.approval(x.a.ID)
	w.coverage.Count("decided: " + string(x.decision))
	if x.id != x.a.ID || d == Keyword {
		return // it may mean another approval by then
	}
	if ackedVote(w, x, a, by) || w.reloaded && x.decision == approval.Edit && a.edited(x) { // which is asked about anew
		return
	}
	want := map[approval.DecisionType]approval.State{
		approval.Approve: approval.Approved, approval.Edit: approval.Edited, approval.Reject: approval.Rejected,
		approval.Respond: approval.Responded, approval.Cancel: approval.Canceled,
	}[x.decision]
	if a.State != want || a.Resolution == nil || a.Resolution.Decision != x.decision {
		w.s.Fail("an acknowledged decision is durable", "%s of %s: it is %s, %+v", x.decision, a.ID, a.State, a.Resolution)
	}
}

// client follows a task, leaves, and comes back to read on from where it was.
type client struct {
	w       *world
	id      store.TaskID
	seq     uint64 // of the newest event that it has
	pub     uint64
	at      *server
	leave   context.CancelFunc
	reading bool
	over    bool // it has seen the end
}

func (w *world) newClient(id store.TaskID) *client {
	c := &client{w: w, id: id}
	w.clients = append(w.clients, c)
	return c
}

// yield takes pages, at the speed of its client.
func (c *client) yield(v *server) func([]engine.Event) error {
	return func(page []engine.Event) error {
		c.read(page)
		if c.w.choices.Rarely(Schedule, 4) {
			v.p.Yield()
		}
		return nil
	}
}

// read checks a page against the durable events: nothing is left out, doubled, or shown early.
func (c *client) read(page []engine.Event) {
	w := c.w
	t := w.model.tasks[c.id]
	for _, e := range page {
		if e.Pub != c.pub+1 || e.Seq <= c.seq {
			w.s.Fail("a reader misses nothing and gets nothing twice", "task %s: event %d (public %d) follows %d (public %d)", c.id, e.Seq, e.Pub, c.seq, c.pub)
			return
		}
		if int(e.Pub) > len(t.public) || !bytes.Equal(t.public[e.Pub-1].Data, e.Data) {
			w.s.Fail("what is read is what is durable", "task %s: event %d", c.id, e.Seq)
			return
		}
		c.seq, c.pub = e.Seq, e.Pub
	}
}

// follow reads on from where the client was.
func (c *client) follow(v *server, until engine.Until) {
	w := c.w
	if c.reading && !c.at.p.dead {
		return
	}
	if c.at != nil {
		w.coverage.Count("a reader comes back")
		if c.at.p.dead {
			w.coverage.Count("a reader comes back after a crash")
		}
	}
	c.at, c.reading = v, true
	ctx, leave := context.WithCancel(context.Background())
	c.leave = leave
	v.p.Go(func() {
		defer leave()
		err := v.engine.Follow(ctx, w.model.tasks[c.id].owner, c.id, c.seq, until, c.yield(v))
		c.reading = false
		if err != nil {
			w.refused(ctx, "follow", err)
			return
		}
		t := w.model.tasks[c.id]
		if c.over = until == engine.UntilEnd; c.over && (t.phase != store.Final || c.pub != t.pub) {
			w.s.Fail("a stream ends at the end", "task %s: phase %d, read %d of %d", c.id, t.phase, c.pub, t.pub)
		}
	})
}
