package rules_test

import (
	"encoding/json"
	"errors"
	"testing"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// kinds returns the keys of a batch's rows of webhooks, by kind, those that are removed with
// a minus.
func kinds(b *store.Batch) map[string][]string {
	of := map[string][]string{}
	for i := range b.Rows {
		c := &b.Rows[i]
		if c.Kind == record.KindApproval {
			continue
		}
		key := string(c.Key)
		if id, n, ok := record.ParsePushKey(c.Key); ok && c.Kind != record.KindPush {
			key = id + string(rune('0'+n))
		}
		if c.Delete {
			key = "-" + key
		}
		of[c.Kind] = append(of[c.Kind], key)
	}
	return of
}

func wantKinds(t *testing.T, b *store.Batch, want string) {
	t.Helper()
	got, err := json.Marshal(kinds(b))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("rows of webhooks: %s, want %s", got, want)
	}
}

func set(id string, replaces, position uint64) *rules.SetWebhook {
	return &rules.SetWebhook{Webhook: record.Webhook{ID: id, URL: "https://example.com", Version: "1.0", By: alice}, Epoch: 3, Replaces: replaces, Position: position}
}

// A webhook is rows, and an event without secrets. Each batch with something for it says so,
// and no other; and a task that has had none says nothing.
func TestWebhookIsToldOfWhatHappens(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "one"}, &fake{name: "two"})
	k.begin(task.PlannedCall{Tool: "one"}, task.PlannedCall{Tool: "two"})
	wantKinds(t, k.batch, `{}`)
	before := k.header
	k.mustPut(set("a", 0, 0))
	wantKinds(t, k.batch, `{"push":["a"],"push.cursor":["a1"]}`)
	if !k.draft.Quiet() || len(k.batch.Events) != 1 || k.batch.Events[0].Public || k.header.Phase != before.Phase || k.header.Fence != before.Fence {
		t.Errorf("the batch is %+v", k.batch)
	}
	if got := string(k.batch.Events[0].Data); got != `{"id":"a","n":1,"by":{"tenant":"acme","subject":"alice","roles":["requester"],"method":"test"}}` {
		t.Errorf("the event is %s", got)
	}
	cursor, err := record.ParsePushCursor(&store.Row{Value: k.batch.Rows[1].Value})
	if err != nil || cursor != (record.PushCursor{Seq: before.Seq, Epoch: 3}) {
		t.Errorf("the cursor is %+v, %v", cursor, err)
	}
	// The end of a call comes with the last chunks of its artifacts.
	k.returns("c1.1", `1`)
	wantKinds(t, k.batch, `{"push.ready":["a1"]}`)
	k.mustPut(set("b", 0, 0))
	wantKinds(t, k.batch, `{"push":["b"],"push.cursor":["b2"]}`)
	k.mustPut(set("a", 1, 2))
	wantKinds(t, k.batch, `{"push":["a"],"push.cursor":["-a1","a3"],"push.ready":["-a1","a3"]}`)
	if w, err := record.ParseWebhook(&store.Row{Value: k.batch.Rows[2].Value}); err != nil || w.Start != 2 || w.N != 3 {
		t.Errorf("the webhook that replaces another is %+v, %v", w, err)
	}
	if err := k.put(set("a", 1, 2)); !errors.Is(err, rules.ErrWebhookChanged) {
		t.Errorf("replacing one that has been replaced = %v", err)
	}
	if err := k.put(set("b", 0, 0)); !errors.Is(err, rules.ErrWebhookChanged) {
		t.Errorf("adding one that is there = %v", err)
	}
	k.mustPut(rules.DeleteWebhook{ID: "b", By: alice})
	wantKinds(t, k.batch, `{"push":["-b"],"push.cursor":["-b2"],"push.ready":["-b2"]}`)
	if err := k.put(rules.DeleteWebhook{ID: "b", By: alice}); !errors.Is(err, rules.ErrNoChange) {
		t.Errorf("deleting one that is not there = %v", err)
	}
	k.returns("c1.2", `1`)
	wantKinds(t, k.batch, `{"push.ready":["a3"]}`)
	if k.header.Phase != store.Final {
		t.Fatalf("the task is in phase %d", k.header.Phase)
	}
	k.mustPut(set("c", 0, 0)) // nothing is left to notify it of
	wantKinds(t, k.batch, `{"push":["c"],"push.cursor":["c4"]}`)
	k.mustPut(set("a", 3, 4)) // it revives it
	wantKinds(t, k.batch, `{"push":["a"],"push.cursor":["-a3","a5"],"push.ready":["-a3","a5"]}`)
}

// A call that pauses is told, too: its artifacts may have got their last chunk in a batch
// that cannot say so.
func TestWebhookIsToldOfAPause(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "one"}, &fake{name: "two"})
	k.begin(task.PlannedCall{Tool: "one"}, task.PlannedCall{Tool: "two"})
	k.mustPut(set("a", 0, 0))
	wake := k.now.Add(1 << 40)
	k.pauses("c1.1", tool.Suspension{Wake: wake})
	if got := kinds(k.batch)[record.KindPushReady]; len(got) != 1 {
		t.Errorf("rows push.ready: %v, want one", got)
	}
}
