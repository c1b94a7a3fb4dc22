package push_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/task/push"
)

// A clock that was a year ahead and is set back, while the deliverer runs or between two of
// them, delays no webhook by that year: neither one that waits for its next try nor one that
// has not been looked at.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"restarted": false, "running": true} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) { testClockSetBack(t, w, running) })
		})
	}
}

func testClockSetBack(t *testing.T, w *world, running bool) {
	var ahead atomic.Int64
	ahead.Store(int64(365 * 24 * time.Hour))
	now := func() time.Time { return time.Now().Round(0).Add(time.Duration(ahead.Load())) }
	w.prepare = func(c *engine.Config) { c.Now = now }
	w.config = func(c *push.Config) { c.Now = now }
	w.patient = true
	rc := newReceiver(t, func(_ int, rw http.ResponseWriter, r *http.Request) {
		if ahead.Load() > 0 {
			rw.Header().Set("Retry-After", "3600")
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	w.start(true)
	stop := w.startPusher(w.handle)
	of := map[string]store.TaskID{"/retrying": w.send("echo", hook(rc.URL+"/retrying"))}
	w.until("it has failed, and waits", func() bool { return w.pusher.Stats().Refused > 0 && w.pusher.Workers() == 0 })
	if !running {
		stop()
		of["/new"] = w.send("echo", hook(rc.URL+"/new"))
	}
	ahead.Store(0)
	if !running {
		w.startPusher(w.handle)
	}
	of["/later"] = w.send("echo", hook(rc.URL+"/later")) // wakes one that runs
	w.until("all are notified", func() bool { return w.pusher.Workers() == 0 && len(w.rows(record.KindPushReady)) == 0 })
	for path, id := range of {
		wantInOrder(t, rc.at(path), w.pushable(id))
	}
}

// A webhook that asks for a pause gets it, up to an hour, however long it is and however it
// is written.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]time.Duration{
		"120": 2 * time.Minute, "31536000000000": time.Hour, "99999999999999999999999999": time.Hour, "Fri, 31 Dec 9999 23:59:59 GMT": time.Hour,
		"-5": time.Second, "Mon, 01 Jan 1900 00:00:00 GMT": time.Second, "1e9": time.Second, "": time.Second,
	} {
		t.Run(asked, func(t *testing.T) {
			w := &world{t: t, open: memstore.New().Handle, patient: true}
			began := time.Now().Truncate(time.Second)
			w.config = func(c *push.Config) { c.Now = func() time.Time { return began } }
			w.prepare = func(c *engine.Config) { c.Now = func() time.Time { return began } }
			w.start(false)
			rc := newReceiver(t, func(_ int, rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Retry-After", asked)
				rw.WriteHeader(http.StatusTooManyRequests)
			})
			w.send("echo", hook(rc.URL))
			var states []push.State
			w.until("it waits", func() (waits bool) {
				states = w.states(push.Query{})
				return len(states) == 1 && states[0].Tries > 0 && states[0].Next.After(began) && w.pusher.Workers() == 0
			})
			if got := states[0].Next.Sub(began); got < want*8/10 || got > want*12/10 {
				t.Errorf("it is tried again after %v, want %v", got, want)
			}
			if n := len(rc.all()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}
