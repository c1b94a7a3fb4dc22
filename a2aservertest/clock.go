package a2aservertest

import (
	"reflect"
	"slices"
	"sync"
	"time"
)

// clock is the clock of a server. It moves only when it is advanced. It is an engine.Host,
// and safe for concurrent use.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer // not fired yet, in order of time
	over   bool     // the server is stopping: new timers fire soon
}

// soon is how long the timers of a stopping server take, which would never fire otherwise,
// because the clock does not move.
const soon = 10 * time.Millisecond

type timer struct {
	at  time.Time
	run func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// advance moves the clock and fires each timer on the way.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for end := c.now.Add(d); ; {
		if len(c.timers) == 0 || c.timers[0].at.After(end) {
			if end.After(c.now) { // another goroutine may move it, too
				c.now = end
			}
			return
		}
		t := c.timers[0]
		c.timers = slices.Delete(c.timers, 0, 1)
		if t.at.After(c.now) {
			c.now = t.at
		}
		c.mu.Unlock()
		t.run()
		c.mu.Lock()
	}
}

// sleep moves the clock, and then fires the timers that are over.
func (c *clock) sleep(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	c.advance(0)
}

// end makes timers that are set from now on fire in real time.
func (c *clock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// Go implements engine.Host.
func (*clock) Go(f func()) { go f() }

// After implements engine.Host.
func (c *clock) After(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d <= 0 || c.over {
		return time.AfterFunc(min(d, soon), f).Stop
	}
	t := &timer{at: c.now.Add(d), run: func() { go f() }}
	place, _ := slices.BinarySearchFunc(c.timers, t, func(a, b *timer) int {
		if !a.at.After(b.at) {
			return -1 // after the timers of the same time
		}
		return 1
	})
	c.timers = slices.Insert(c.timers, place, t)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.timers, t)
		if i >= 0 {
			c.timers = slices.Delete(c.timers, i, i+1)
		}
		return i >= 0
	}
}

// Wait implements engine.Host.
func (*clock) Wait(channels ...<-chan struct{}) int {
	cases := make([]reflect.SelectCase, len(channels))
	for i, c := range channels {
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	place, _, _ := reflect.Select(cases)
	return place
}
