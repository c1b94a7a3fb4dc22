package push_test

import (
	"context"
	"math"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task/internal/record"
	"a2a-server/task/push"
)

// rotten is a store of which something is damaged: the rows of a kind, or the events of logs.
type rotten struct {
	store.Handle
	kind   string
	events bool
}

func (r rotten) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	page, err := r.Handle.Rows(ctx, s, q)
	if q.Kind != r.kind {
		return page, err
	}
	if q.Key != nil && len(page.Rows) > 0 {
		return store.RowPage{}, store.ErrDataLoss
	}
	for i := range page.Rows {
		page.Rows[i].Damaged, page.Rows[i].Value, page.Rows[i].Rev = true, nil, 0
	}
	return page, err
}

func (r rotten) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	page, err := r.Handle.Read(ctx, s, id, from, limit)
	if seq, _ := from.Seq(); r.events && err == nil && seq < math.MaxInt64 {
		return store.LogPage{}, store.ErrDataLoss
	}
	return page, err
}

// Whatever is damaged of a webhook, it is listed as damaged, with whose it is.
func TestListOfDamage(t *testing.T) {
	t.Parallel()
	w := &world{t: t, open: memstore.New().Handle}
	w.start(true)
	id := w.send("ask", hook("http://127.0.0.1:9/x"))
	for name, damage := range map[string]rotten{
		"nothing": {}, "the webhook": {kind: record.KindPush}, "the cursor": {kind: record.KindPushCursor}, "the time": {kind: record.KindPushReady}, "the log": {events: true},
	} {
		damage.Handle = w.handle
		states, _, err := push.List(w.ctx(), damage, store.System(), time.Now(), push.Query{Task: id})
		if err != nil || len(states) != 1 {
			t.Errorf("%s: List() = %+v, %v", name, states, err)
			continue
		}
		s := states[0]
		want := map[bool]string{true: "active", false: "damaged"}[name == "nothing"]
		if s.State != want || s.Task != id || s.Config != "hook" || s.Number != 1 || s.Owner != store.Owner("acme", "alice") || !s.SetBy("alice") || s.SetBy("bob") {
			t.Errorf("%s: List() = %+v, want it %s", name, s, want)
		}
		if known := s.By.Subject == "alice" && s.Host == "127.0.0.1" && !s.Set.IsZero(); known == (name == "the webhook") {
			t.Errorf("%s: List() = %+v", name, s)
		}
	}
}

// Who has acted for somebody has set their webhooks too.
func TestSetBy(t *testing.T) {
	t.Parallel()
	s := push.State{Owner: store.Owner("acme", "alice"), By: auth.Principal{Tenant: "acme", Subject: "alice", Person: "al", Chain: []string{"agent", "gateway"}}}
	for subject, want := range map[string]bool{"alice": true, "agent": true, "gateway": true, "bob": false, "al": false, "": false} {
		if got := s.SetBy(subject); got != want {
			t.Errorf("SetBy(%q) = %v", subject, got)
		}
	}
}
