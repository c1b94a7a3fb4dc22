package push_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/task/push"
)

// A thousand webhooks that are dead or hang, each on a host of its own or many on one, do
// not delay the deadlines of approvals: those are due work, which notifications never use.
func TestDeadWebhooksDelayNoDeadline(t *testing.T) {
	t.Parallel()
	const expires = 200 * time.Millisecond
	w := newBolt(t)
	w.patient = true
	w.prepare = func(c *engine.Config) {
		var err error
		if c.Policy, err = approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{Expires: expires}}); err != nil {
			t.Fatal(err)
		}
	}
	w.config = func(c *push.Config) {
		c.Timeout = time.Second
		c.Client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "dead") {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}}
	}
	w.start(false)
	late := func() time.Duration {
		id := w.send("ask", nil) // it waits for an approval then
		page, err := w.handle.Read(w.ctx(), store.System(), id, store.After(0), store.Limit{Events: 1})
		if err != nil {
			t.Fatal(err)
		}
		asked := page.Header.StatusTime
		w.until("the approval expires", func() bool {
			page, err = w.handle.Read(w.ctx(), store.System(), id, store.After(0), store.Limit{Events: 1})
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
	for i := range 1000 {
		host := fmt.Sprintf("hangs%d.example", i%100)
		if i%2 == 0 {
			host = fmt.Sprintf("dead%d.example", i)
		}
		w.send("echo", hook("http://"+host))
	}
	w.until("all workers are taken", func() bool { return w.pusher.Stats().Workers == 64 })
	with := median()
	t.Logf("a deadline is %v late, with 1,000 webhooks %v (%+v)", without, with, w.pusher.Stats())
	if with > without+100*time.Millisecond {
		t.Errorf("a deadline is %v late, with 1,000 webhooks %v; want at most 100 ms more", without, with)
	}
}
