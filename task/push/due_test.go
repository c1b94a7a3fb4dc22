package push_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/task/push"
)

// A thousand webhooks that are dead or hang, each on a host of its own or many on one, do
// not delay the deadlines of approvals: those are due work, which notifications never use.
// The clock is that of a bubble, which only waiting moves: how busy the machine is does not
// count.
func TestDeadWebhooksDelayNoDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testDeadWebhooksDelayNoDeadline)
}

func testDeadWebhooksDelayNoDeadline(t *testing.T) {
	const expires = 200 * time.Millisecond
	w := newBolt(t)
	w.patient = true
	w.prepare = func(c *engine.Config) {
		c.Policy = must(approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{Expires: expires}}))
	}
	w.config = func(c *push.Config) {
		c.Timeout = 30 * time.Second
		c.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Host, "dead") {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
	}
	w.start(false)
	late := func() time.Duration {
		id := w.send("ask", nil) // it waits for an approval then
		page := must(w.handle.Read(w.ctx(), store.System(), id, store.After(0), store.Limit{Events: 1}))
		asked := page.Header.StatusTime
		w.until("the approval expires", func() bool {
			page, err := w.handle.Read(w.ctx(), store.System(), id, store.After(0), store.Limit{Events: 1})
			return err == nil && page.Header.Phase == store.Final
		})
		return page.Header.StatusTime.Time().Sub(asked.Time()) - expires
	}
	median := func() time.Duration {
		var all []time.Duration
		for range 7 {
			all = append(all, late())
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	without := median()
	var made sync.WaitGroup
	for n := range 20 {
		made.Go(func() {
			for i := range 50 {
				host := fmt.Sprintf("hangs%d.example", i)
				if n%2 == 0 {
					host = fmt.Sprintf("dead%d.%d.example", i, n)
				}
				w.send("echo", hook("http://"+host))
			}
		})
	}
	made.Wait()
	w.until("all workers that retries may have are taken", func() bool { return w.pusher.Workers() >= 32 })
	with := median()
	t.Logf("a deadline is %v late, with 1,000 webhooks %v (%+v)", without, with, w.pusher.Stats())
	if with > without+10*time.Millisecond {
		t.Errorf("a deadline is %v late, with 1,000 webhooks %v; want at most 10 ms more", without, with)
	}
}
