package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
	"a2a-server/task/internal/record"
)

// hook sets a webhook with a number, whose first event is after start.
func (t *story) hook(n, start uint64) {
	url := fmt.Sprint("https://a.example/", n)
	w := record.Webhook{V: record.Version, ID: "a", N: n, Version: "1.0", Start: start}
	err := w.Seal(storyTask, record.WebhookSecrets{URL: url}, plain{}.Seal)
	set, failed := json.Marshal(&w)
	if err = errors.Join(err, failed); err != nil {
		panic(err)
	}
	b := &store.Batch{
		Scope: store.System(), Task: storyTask, Rev: new(t.rev),
		Events: []store.Event{{Kind: "push.set.v1", Time: 1, Data: fmt.Appendf(nil, `{"id":"a","n":%d}`, n)}},
		Rows:   []store.RowChange{{Kind: record.KindPush, Key: []byte("a"), IfRev: store.Any, Value: set}, t.cursorRow(n, record.PushCursor{Seq: start, Epoch: t.h.Epoch()})},
	}
	if n > 1 {
		b.Rows = append(b.Rows, store.RowChange{Kind: record.KindPushCursor, Key: record.PushKey("a", n-1), IfRev: store.Any, Delete: true})
	}
	t.write(b)
}

func (t *story) cursorRow(n uint64, c record.PushCursor) store.RowChange {
	row, err := c.Row(record.PushKey("a", n), store.Any)
	if err != nil {
		panic(err)
	}
	return row
}

func (t *story) write(b *store.Batch) {
	t.h.Append(context.Background(), b)
	t.d.Commit(1)
	if b.Rev != nil {
		t.rev++
	}
}

// unhook deletes the webhook, with its row unless that is left.
func (t *story) unhook(left bool) {
	b := &store.Batch{Scope: store.System(), Task: storyTask, Rev: new(t.rev), Events: []store.Event{{Kind: "push.deleted.v1", Time: 1, Data: []byte(`{"id":"a"}`)}}}
	if !left {
		b.Rows = append(b.Rows, store.RowChange{Kind: record.KindPush, Key: []byte("a"), IfRev: store.Any, Delete: true})
	}
	t.write(b)
}

// records writes how far the webhook has been told.
func (t *story) records(n, seq, epoch uint64) {
	t.write(&store.Batch{Scope: store.System(), Task: storyTask, Rows: []store.RowChange{t.cursorRow(n, record.PushCursor{Seq: seq, Epoch: epoch})}})
}

// looks has the routine that runs read the webhook.
func (t *story) looks(n uint64) {
	t.m.saw(storyTask, &record.Webhook{ID: "a", N: n, URL: fmt.Sprint("https://a.example/", n)})
}

// tells has the webhook be told of an event, which it accepts.
func (t *story) tells(n, seq uint64, body string) {
	t.m.told(t.m.notified(t.p, fmt.Sprint("/", n), fmt.Sprintf("%s-%d", storyTask, seq), []byte(body), true))
}

// TestModelKnowsTheRulesOfWebhooks tells stories that are wrong in one place, and some that are
// not. The task has the public events 1 and 3.
func TestModelKnowsTheRulesOfWebhooks(t *testing.T) {
	t.Parallel()
	const submitted = `{"task":{"status":{"state":"TASK_STATE_SUBMITTED"}}}`
	working := status("WORKING")
	for i, tt := range []struct {
		rule string // that the story breaks; "" is none
		tell func(*story)
	}{
		{"", func(t *story) {
			t.hook(1, 0)
			t.looks(1)
			t.tells(1, 1, submitted)
			t.records(1, 1, 1)
			t.looks(1)
			t.tells(1, 3, working)
			t.looks(1)
			t.tells(1, 3, working) // its answer was lost
			t.hook(2, 1)
			t.looks(2)
			t.tells(2, 3, working)
			t.records(2, 4, 1)
			t.unhook(false)
		}},
		{"a webhook is looked at before each notification, so that none that was deleted is told", func(t *story) {
			t.hook(1, 0)
			t.looks(1)
			t.tells(1, 1, submitted)
			t.tells(1, 3, working)
		}},
		{"rows say what the log says", func(t *story) { t.hook(1, 0); t.unhook(false); t.looks(1) }},
		{"rows say what the log says", func(t *story) { t.hook(1, 0); t.unhook(true) }},
		{"a webhook is told of everything in its order", func(t *story) { t.hook(1, 0); t.looks(1); t.tells(1, 3, working) }},
		{"only the newest notification is repeated", func(t *story) {
			t.hook(1, 0)
			for _, seq := range []uint64{1, 3, 1} {
				t.looks(1)
				t.tells(1, seq, map[uint64]string{1: submitted, 3: working}[seq])
			}
		}},
		{"a webhook is told what the log says", func(t *story) { t.hook(1, 0); t.looks(1); t.tells(1, 1, working) }},
		{"a webhook is told of what happens", func(t *story) { t.hook(1, 0); t.looks(1); t.tells(1, 2, working) }},
		{"a webhook is told of what happens", func(t *story) { t.hook(1, 1); t.looks(1); t.tells(1, 1, submitted) }},
		{"the cursor of a webhook passes nothing that it was not told of", func(t *story) { t.hook(1, 0); t.looks(1); t.tells(1, 1, submitted); t.records(1, 3, 1) }},
		{"the cursor of a webhook only moves on", func(t *story) { t.hook(1, 1); t.records(1, 0, 1) }},
		{"a webhook of a younger process is left alone", func(t *story) { t.hook(1, 0); t.records(1, 0, 2) }},
		{"nothing is kept of a webhook that was deleted", func(t *story) { t.hook(1, 0); t.unhook(false); t.records(1, 0, 1) }},
		{"what a webhook has missed goes to the one that replaces it", func(t *story) { t.hook(1, 0); t.hook(2, 3) }},
		{"a webhook is told of all that follows it", func(t *story) { t.hook(1, 4) }},
	} {
		t.Run(fmt.Sprint(i, " ", tt.rule), func(t *testing.T) {
			t.Parallel()
			s := newStory()
			defer s.s.Close()
			s.begin("once_plain")
			tt.tell(s)
			s.breaks(t, tt.rule)
		})
	}
}

// finishHooks plays the end of a run.
func (t *story) finishHooks() {
	w := &world{s: t.s, disk: t.d, model: t.m, outside: t.s.Process("outside"), pushes: true}
	w.outside.Go(w.finishHooks)
	t.s.Run(func() bool { return false })
}

// A webhook that was not told of everything, or is ready forever, is noticed at the end.
func TestHooksAtTheEnd(t *testing.T) {
	t.Parallel()
	for rule, told := range map[string]bool{"a webhook is told of everything": false, "": true} {
		s := newStory()
		s.begin("once_plain")
		s.hook(1, 0)
		if told {
			s.looks(1)
			s.tells(1, 1, `{"task":{"status":{"state":"TASK_STATE_SUBMITTED"}}}`)
			s.looks(1)
			s.tells(1, 3, status("WORKING"))
		}
		s.finishHooks()
		s.breaks(t, rule)
		s.s.Close()
	}
	ready := newStory()
	defer ready.s.Close()
	ready.begin("once_plain")
	ready.write(&store.Batch{Scope: store.System(), Task: storyTask, Rows: []store.RowChange{record.Ready(record.PushKey("a", 1), store.Any, 1)}})
	ready.finishHooks()
	ready.breaks(t, "no webhook is ready forever")
}
