//go:build linux

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

const (
	leap = 2 * time.Hour // how far the clock jumps
	term = time.Hour     // how long an approval may be pending, by that clock
)

// clock is the wall clock of the processes of a test, which read it from memory that
// they share with it: how far it is from that of the machine in seconds, and how far it
// was when one of them looked last.
type clock struct {
	words *[2]int64
	leaps []leapt // forward
	read  int     // jumps that a process has read
}

// leapt is a moment, as far as the test can tell, at which the clock jumped forward.
type leapt struct{ from, to time.Time }

// newClockWorld returns a world whose clock jumps.
func newClockWorld(t *testing.T, program string, flags ...string) *world {
	t.Helper()
	tree := must(findGo())(t)
	if !tree.replaceable() {
		skip(t, "Go is in the module cache, where it takes no overlay: "+tree.GOROOT)
	}
	folder := must(buildShifted())(t)
	t.Parallel() // only now: without a cache the build has both processors for a minute
	w := newWorld(t)
	w.binary, w.flags = filepath.Join(folder, program), flags
	file := must(os.Create(filepath.Join(w.control, clockFile)))(t)
	defer file.Close()
	need(t, file.Truncate(16))
	b := must(syscall.Mmap(int(file.Fd()), 0, 16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))(t)
	t.Cleanup(func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	w.clock = &clock{words: (*[2]int64)(unsafe.Pointer(&b[0]))}
	return w
}

// now is the time by the clock.
func (c *clock) now() time.Time {
	return time.Now().Add(time.Duration(atomic.LoadInt64(&c.words[0])) * time.Second)
}

// set sets the clock.
func (c *clock) set(by time.Duration) { atomic.AddInt64(&c.words[0], int64(by/time.Second)) }

// readsClock waits until the process that lives has read the clock as it is now.
func (w *world) readsClock() {
	w.Helper()
	eventually(w.T, "the server reads the clock that has jumped", func() bool {
		return atomic.LoadInt64(&w.clock.words[1]) == atomic.LoadInt64(&w.clock.words[0])
	})
	w.clock.read++
}

// jump sets the clock under the process that lives.
func (w *world) jump(by time.Duration) {
	w.Helper()
	from := time.Now()
	w.clock.set(by)
	w.readsClock()
	if by > 0 {
		w.clock.leaps = append(w.clock.leaps, leapt{from, time.Now()})
	}
}

// mayExpire reports whether an errand may have lost its approval: it is decided on within
// moments, so only when the clock leapt over its deadline meanwhile.
func (w *world) mayExpire(e *errand) bool {
	if w.clock == nil || len(e.told) > 0 {
		return false
	}
	for _, l := range w.clock.leaps {
		if !l.to.Before(e.began) && !l.from.After(e.ended) {
			return true
		}
	}
	return false
}

// held is an errand whose approval is pending until the test says more.
type held struct {
	*errand
	asked question
}

// asks begins errands that ask, with deadlines by the clock as it is now.
func (w *world) asks(kind string, n int) []held {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soonBound)
	defer cancel()
	var all []held
	for range n {
		w.mu.Lock()
		e := w.add(kind)
		w.mu.Unlock()
		need(w, e.send(ctx, w.to()))
		h := held{errand: e, asked: w.pending(ctx, e)}
		if off := w.clock.now().Sub(h.asked.RequestedAt); off.Abs() > time.Minute {
			w.Errorf("%s was asked at %v, %v away from the clock", e.name, h.asked.RequestedAt, off)
		}
		if got := h.asked.ExpiresAt.Sub(h.asked.RequestedAt); got != term {
			w.Errorf("%s may be pending for %v, want %v", e.name, got, term)
		}
		all = append(all, h)
	}
	return all
}

// pending returns what an errand asks.
func (w *world) pending(ctx context.Context, e *errand) question {
	w.Helper()
	t := must(w.to().get(ctx, e.id))(w)
	asked, err := t.Status.questions()
	if err != nil || len(asked) != 1 || t.Status.State != inputRequired {
		w.Fatalf("%s is %s and asks %v, %v; want one question", e.name, t.Status.State, asked, err)
	}
	return asked[0]
}

// stillPend looks at approvals whose deadline has not come by the clock.
func (w *world) stillPend(all []held) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soonBound)
	defer cancel()
	for _, h := range all {
		if got := w.pending(ctx, h.errand); got != h.asked {
			w.Errorf("%s asked %v, and now %v", h.name, h.asked, got)
		}
	}
}

// approves decides on approvals, which take it.
func (w *world) approves(all []held) {
	w.Helper()
	w.stillPend(all)
	ctx, cancel := context.WithTimeout(context.Background(), soonBound)
	defer cancel()
	for _, h := range all {
		if err := h.run(ctx, w.to()); err != nil {
			w.Error(err)
		} else if !h.told[h.asked.ID] {
			w.Errorf("the decision on %s was not taken", h.name)
		}
	}
}

// lapses waits until approvals have expired that the clock has passed. A decision on
// every second of them comes first, and too late.
func (w *world) lapses(all []held, bound time.Duration) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	for i, h := range all {
		if i%2 == 0 {
			continue
		}
		if err := decide(ctx, w.to(), h.id, h.asked.ID, approve, "too late for "+h.name); !expired(err) {
			w.Errorf("a decision on %s after its deadline = %v, want that it is refused for that", h.name, err)
		}
	}
	for _, h := range all {
		h.ends(ctx, w)
	}
}

// ends waits until the server shows that an errand has ended.
func (e *errand) ends(ctx context.Context, w *world) {
	w.Helper()
	again := time.NewTicker(pace)
	defer again.Stop()
	for {
		t, err := w.to().get(ctx, e.id)
		if err == nil {
			err = e.known(&t)
		}
		if err != nil {
			w.Errorf("%s %s, task %s, does not end: %v", e.kind, e.name, e.id, err)
			return
		}
		if t.Status.ended() {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// resend sends messages again whose tasks are known: none makes another task. They are
// those of all tasks that have not ended, and about so many of the others.
func (w *world) resend(most int) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), endBound)
	defer cancel()
	all := w.all()
	step := len(all)/most + 1
	for i, e := range all {
		if id, state, _ := e.shown(); id == "" || state != "" && i%step != 0 {
			continue
		}
		if err := e.again(ctx, w.to()); err != nil {
			w.Error(err)
			return // one says enough
		}
	}
}

// The wall clock jumps by two hours, forward, back, and to before the program and its
// file were there, as when somebody sets it; the monotonic clock continues. Only what has a
// date moves with it.
func TestClockJumps(t *testing.T) {
	config := filepath.Join(t.TempDir(), "c.yaml")
	need(t, os.WriteFile(config, []byte("deadlines: {expires: "+term.String()+"}\n"), 0o600))
	w := newClockWorld(t, "a2a-server", "--config", config)
	rounds := 1
	if *long {
		rounds = 8
	}
	w.start()
	l := w.load()
	w.reached(10)
	for range rounds {
		w.leaps()
	}
	if *long {
		// Nobody wakes the server: it looks at its clock at least once a minute.
		l.stop()
		w.finish()
		alone := w.asks(lapse, 2)
		w.jump(leap)
		w.lapses(alone[:1], 90*time.Second)
		w.lapses(alone[1:], wakeBound)
		w.jump(-leap)
	}
	l.stop()
	w.finish()
	w.verify()
	w.live.stop()
	w.live.sound()
	// The next processes find the clock before the file was made, and after the end.
	for _, by := range []time.Duration{-leap, 2 * leap} {
		w.clock.set(by)
		w.start()
		w.readsClock()
		w.resend(200)
		w.verify()
		w.live.stop()
		w.live.sound()
	}
	expired := 0
	for _, e := range w.all() {
		if _, state, _ := e.shown(); e.kind == approve && state == canceled {
			expired++
		}
	}
	t.Logf("%d messages, and %d approvals of the load that a jump passed", len(w.all()), expired)
	struck(t, w.clock.read)
}

// leaps lets the clock jump to two hours ahead, back, to two hours before, and back.
func (w *world) leaps() {
	w.Helper()
	busy := func() {
		w.reached(10)
		w.resend(20)
	}
	passed := w.asks(lapse, 4)
	w.jump(leap)
	w.lapses(passed, wakeBound)
	ahead := w.asks(approve, 4)
	busy()
	w.stillPend(ahead)

	w.jump(-leap)
	later := w.asks(approve, 4)
	busy()
	w.approves(ahead[:1])
	w.stillPend(ahead[1:])

	w.jump(-leap)
	passed = w.asks(lapse, 4)
	busy()
	w.approves(ahead[1:2])
	w.approves(later)
	w.stillPend(ahead[2:])
	w.stillPend(passed)

	w.jump(leap)
	w.lapses(passed, wakeBound)
	busy()
	w.approves(ahead[2:])
}

// What waits for a time wakes when the clock says so: never before it, at once after a
// jump forward, and that much later after one back.
func TestTimersWhenClockJumps(t *testing.T) {
	w := newClockWorld(t, "phrases")
	ctx, cancel := context.WithTimeout(context.Background(), 2*endBound)
	defer cancel()
	w.start()
	var all []*timer
	begins := func(text string, n int) (begun []*timer) {
		for range n {
			m := &timer{name: fmt.Sprintf("%s %d", text, len(all)), text: text}
			need(t, m.send(ctx, w.to()))
			all, begun = append(all, m), append(begun, m)
		}
		return begun
	}
	// Each send again is of a message that is known, and a look at its task.
	look := func(timers []*timer, want string) {
		t.Helper()
		for _, m := range timers {
			within(t, wakeBound, m.name+" is "+want, func() bool {
				need(t, m.send(ctx, w.to()))
				return m.state == want
			})
		}
	}
	const working = "TASK_STATE_WORKING"

	look(begins("wait short", 5), completed)
	passed := begins("wait long", 5)
	w.jump(leap)
	look(begins("wait short", 5), completed) // which are also what wakes the server
	look(passed, completed)
	ahead := begins("wait long", 5)
	w.jump(-leap)
	look(begins("wait short", 5), completed)
	look(ahead, working)
	w.jump(-leap)
	look(begins("wait short", 5), completed)
	later := begins("wait long", 5)
	look(ahead, working)
	w.jump(leap)
	look(begins("wait short", 5), completed)
	look(later, completed)
	look(ahead, working)
	w.live.stop()
	w.live.sound()

	w.clock.set(2 * leap)
	w.start()
	w.readsClock()
	look(all, completed)
	w.live.stop()
	w.live.sound()
	struck(t, w.clock.read)
}

// timer is a message that makes a task that waits.
type timer struct{ name, text, id, state string }

func (m *timer) send(ctx context.Context, c *client) error {
	var sent struct{ Task *task }
	err := c.call(ctx, "SendMessage", object{
		"message":       object{"messageId": m.name, "role": "ROLE_USER", "parts": []any{object{"text": m.text}}},
		"configuration": object{"returnImmediately": true},
	}, &sent)
	switch {
	case err != nil:
		return err
	case sent.Task == nil || m.id != "" && sent.Task.ID != m.id:
		return fmt.Errorf("%s: the message had task %q, and now has %+v", m.name, m.id, sent.Task)
	}
	m.id, m.state = sent.Task.ID, sent.Task.Status.State
	return nil
}
