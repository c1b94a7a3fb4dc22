package rules_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// BenchmarkDraft measures the drafts of a task with a single call: the message up to the start, and
// the result up to the end; with a gate, also the decision.
func BenchmarkDraft(b *testing.B) {
	for _, gated := range []bool{false, true} {
		b.Run(map[bool]string{false: "free", true: "gated"}[gated], func(b *testing.B) {
			newID := func() string { return "019aa000-0000-7000-8000-000000000000" }
			planner := &steps{list: []*task.Step{{Calls: []task.PlannedCall{call("pay", 1)}}}}
			r := &rules.Rules{
				Tools: tool.NewRegistry(&shelf{tools: []*fake{{name: "pay", gated: gated, schema: amounts("")}}}), Planner: planner,
				Presenter: dialect.New(dialect.Config{Keywords: true, NewID: newID}),
				Limits:    task.Limits{}.WithDefaults(), Agent: "desk", NewID: newID, Policy: policy(b),
			}
			running := false
			at := rules.At{Ctx: b.Context(), Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Running: func(string) bool { return running }}
			m := &a2a.Message{ID: "first", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("go")}}
			raw, err := rules.EncodeMessage(m)
			if err != nil {
				b.Fatal(err)
			}
			commit := func(d *rules.Draft, err error) *rules.Draft {
				if err == nil {
					_, err = d.Advance()
				}
				if err == nil && d.Phase() != store.Final {
					err = d.GoLive()
				}
				if err != nil {
					b.Fatal(err)
				}
				batch := d.Batch(store.System(), nil)
				h := d.Fold().Header
				d.Committed(store.Receipt{Last: h.Seq + uint64(len(batch.Events)), Rev: h.Rev + 1, Fence: 1})
				return d
			}
			b.ReportAllocs()
			for b.Loop() {
				running = false
				d := commit(rules.Create(r, at, rules.New{ID: deskTask, Message: m, JSON: raw, Context: r.Readonly(at.Ctx, alice)}))
				if gated {
					d = commit(rules.On(r, at, d.Fold(), rules.Decisions{By: bob, Via: approval.ViaAPI, List: []approval.Decision{{ID: d.Fold().Pending()[0].ID, Type: approval.Approve}}}))
				}
				running = true
				d = commit(rules.On(r, at, d.Fold(), rules.RunEnded{Entry: d.Launch()[0], Result: json.RawMessage(`{"paid":true}`)}))
				if d.Phase() != store.Final {
					b.Fatal("the task has not ended")
				}
			}
		})
	}
}
