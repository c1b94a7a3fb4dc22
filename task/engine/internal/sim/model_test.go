package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/tool"
)

// story is a log as an engine would write it, commit by commit.
type story struct {
	s *Scheduler
	d *Disk
	m *model
	b *Toolbox
	p *Process
	h store.Handle

	rev   uint64
	fence *uint64 // of the batches; nil: not from a turn
}

var storyTraits = []Traits{{false, Once, Plain}, {true, Once, Plain}, {false, ReadOnly, Plain}, {true, Idempotent, Plain}}

func newStory() *story {
	s := NewScheduler(Replayed(Tape{}))
	b := NewToolbox(s, NewCoverage(), storyTraits)
	t := &story{s: s, d: NewDisk(s), b: b, m: newModel(s, b), p: s.Process("p")}
	t.m.heldTime = time.Hour
	t.d.Committed, t.d.Claimed, b.Entered = t.m.committed, t.m.claimed, t.m.entered
	t.h = t.d.Handle(t.p)
	return t
}

var storyTask = store.TaskID{15: 1}

// say commits events, given as kind and JSON in turn, and a change.
func (t *story) say(change store.Change, events ...string) {
	rev := t.rev
	b := &store.Batch{Scope: store.System(), Task: storyTask, Rev: &rev, Fence: t.fence, Change: change}
	if rev == 0 {
		b.Scope = store.Owner("acme", "alice")
	}
	for i := 0; i < len(events); i += 2 {
		public := events[i] == "task" || events[i] == "status" || events[i] == "artifact"
		b.Events = append(b.Events, store.Event{Kind: events[i], Public: public, Time: 1, Data: []byte(events[i+1])})
	}
	t.write(b)
}

func status(state string) string {
	return fmt.Sprintf(`{"statusUpdate":{"status":{"state":"TASK_STATE_%s"}}}`, state)
}

// begin makes the task, with a call of a tool.
func (t *story) begin(tool string) {
	t.say(store.Change{Status: &store.Status{State: 2, Time: 1}, Phase: store.Live, Context: "context"},
		"task", `{"task":{"status":{"state":"TASK_STATE_SUBMITTED"}}}`,
		"step.planned.v1", fmt.Sprintf(`{"step":1,"calls":[{"id":"c1.1","tool":%q,"args":{"n":1}}]}`, tool),
		"status", status("WORKING"))
}

// sets has a run of the call return, after it has set a key, and ends the call with delta.
func (t *story) sets(key, delta string, rows ...string) {
	t.enter(0)
	r := t.b.Ledger.Runs[len(t.b.Ledger.Runs)-1]
	r.Returned, r.Paused, r.Sets = true, false, map[string]json.RawMessage{key: json.RawMessage(fmt.Sprintf(`{"run":%d}`, r.N))}
	t.ends(fmt.Sprintf(`"outcome":"ok","result":{"run":%d},"delta":%s`, r.N, delta), rows...)
}

// ends ends the call with rows of the state, given as key and value in turn.
func (t *story) ends(how string, rows ...string) {
	b := &store.Batch{
		Scope: store.System(), Task: storyTask, Rev: new(t.rev),
		Events: []store.Event{{Kind: "call.finished.v1", Time: 1, Data: []byte(`{"call":"c1.1",` + how + `}`)}},
	}
	for i := 0; i < len(rows); i += 2 {
		b.Rows = append(b.Rows, store.RowChange{Kind: "state", Key: []byte(rows[i]), IfRev: store.Any, Value: []byte(rows[i+1]), OfContext: true})
	}
	t.write(b)
}

// enterSeeing enters the call, whose tool sees a state.
func (t *story) enterSeeing(state fakeState) {
	_ = invoke(t.b.tool(t.p, storyTraits[0], 0), &fakeContext{ctx: context.Background(), task: storyTask.String(), call: "c1.1", state: state})
}

func (t *story) event(kind, data string) { t.say(store.Change{}, kind, data) }

func (t *story) start() { t.event("call.started.v1", `{"call":"c1.1","attempt":1,"digest":"d"}`) }

func (t *story) ask(id, kind string) {
	digest := map[string]string{"call": "d"}[kind]
	t.event("approval.requested.v1", fmt.Sprintf(
		`{"v":1,"id":%q,"kind":%q,"state":"pending","call":"c1.1","tool":"gated_once_plain","args":{"n":1},"digest":%q,"definition":%q}`, id, kind, digest, t.b.Digest(storyTraits[1], 0)))
}

// askTimed asks an approval a1 that is reminded of after 10 ms and escalated after 20 ms.
func (t *story) askTimed() {
	t.event("approval.requested.v1", fmt.Sprintf(
		`{"v":1,"id":"a1","kind":"call","state":"pending","call":"c1.1","tool":"gated_once_plain","args":{"n":1},"digest":"d","definition":%q,`+
			`"asked":"2030-01-01T00:00:00Z","terms":{"gate":"r","remind":10000000,"escalate":{"after":20000000,"addRoles":["treasury"]}}}`, t.b.Digest(storyTraits[1], 0)))
}

func (t *story) resolve(id, state string) {
	t.event("approval.resolved.v1", fmt.Sprintf(`{"id":%q,"state":%q,"resolution":{"via":"a2a"}}`, id, state))
}

func (t *story) enter(i int) { t.enterIn(t.p, i, 0) }

func (t *story) enterIn(p *Process, i, version int) {
	tool := t.b.tool(p, storyTraits[i], version)
	_ = invoke(tool, &fakeContext{ctx: context.Background(), task: storyTask.String(), call: "c1.1"})
}

// keeping begins a call that may not be repeated, and that has kept something.
func (t *story) keeping() {
	t.begin("once_plain")
	t.start()
	t.enter(0)
	t.event("call.checkpoint.v1", `{"call":"c1.1","state":{"n":1}}`)
	t.m.kept(t.b.Ledger.Runs[0], `{"n":1}`)
}

// holding begins a call that is held by a question.
func (t *story) holding() {
	t.begin("once_plain")
	t.start()
	t.enter(0)
	t.askHeld("h1")
}

// askHeld asks a question that holds the call.
func (t *story) askHeld(id string) {
	t.event("approval.requested.v1", fmt.Sprintf(
		`{"id":%q,"call":"c1.1","kind":"question","askKind":"question","ask":"held.%s","held":true,"hint":"why?","state":"pending","deadline":%q}`, id, id, Epoch.Add(time.Minute).Format(time.RFC3339)))
}

func (t *story) decideHeld(state string) { t.resolve("h1", state) }

// told has the tool be told what came of the question.
func (t *story) told(state string, err error, over bool) {
	t.m.answered(t.b.Ledger.Runs[0], tool.Question{Hint: "why?"}, tool.Answer{State: state}, err, over)
}

// claim has another process take the task over.
func (t *story) claim() {
	t.p = t.s.Process("next")
	t.h = t.claimBy(t.p)
}

func (t *story) claimBy(p *Process) store.Handle {
	h := t.d.Handle(p)
	if _, err := h.Claim(context.Background(), 9); err != nil {
		panic(err)
	}
	t.rev++
	return h
}

// again has another process start the call once more.
func (t *story) again() {
	t.claim()
	t.unknown("died")
	t.start()
}

// approved begins a call that needs an approval, and has it.
func (t *story) approved() {
	t.begin("gated_once_plain")
	t.ask("a1", "call")
	t.resolve("a1", "approved")
}

// breaks checks that the story breaks a rule; "" is none.
func (t *story) breaks(test *testing.T, rule string) {
	test.Helper()
	got := ""
	if f := t.s.failure; f != nil {
		got = f.Rule
	}
	if got != rule {
		test.Errorf("broken: %q, want %q: %v", got, rule, t.s.failure)
	}
}

func (t *story) unknown(cause string) {
	t.event("call.unknown.v2", fmt.Sprintf(`{"call":"c1.1","cause":%q}`, cause))
}

// enterWith enters the call again with a state and so many answers.
func (t *story) enterWith(state string, answers int) {
	ctx := tool.ContextWithCallValues(context.Background(), &tool.CallValues{Resumption: &tool.Resumption{State: []byte(state), Answers: make([]tool.Answer, answers)}})
	_ = invoke(t.b.tool(t.p, storyTraits[0], 0), &fakeContext{ctx: ctx, task: storyTask.String(), call: "c1.1"})
}

// TestModelKnowsTheRules tells stories that are wrong in one place, and one that is not.
func TestModelKnowsTheRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule string // that the story breaks; "" is none
		tell func(*story)
	}{
		{"", func(t *story) {
			t.approved()
			t.start()
			t.enter(1)
			t.event("call.unknown.v1", `{"call":"c1.1"}`)
			t.ask("a2", "outcome")
			t.resolve("a2", "approved")
			t.event("call.started.v1", `{"call":"c1.1","attempt":2,"digest":"d"}`)
			t.enter(1)
			t.say(store.Change{Status: &store.Status{State: 4, Time: 1}, Phase: store.Final},
				"call.finished.v1", `{"call":"c1.1","outcome":"ok"}`, "status", status("COMPLETED"))
			t.event("call.finished_late.v1", `{"call":"c1.1"}`)
		}},
		{"a tool is entered after its start is durable", func(t *story) { t.begin("once_plain"); t.enter(0) }},
		{"a tool is entered after its start is durable", func(t *story) { t.begin("once_plain"); t.start(); t.enter(0); t.enter(0) }},
		{"a tool is entered after its start is durable", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.enterIn(t.s.Process("other"), 0, 0)
		}},
		{"no gated call runs without an approval", func(t *story) { t.begin("gated_once_plain"); t.start() }},
		{"no gated call runs without an approval", func(t *story) {
			t.begin("gated_once_plain")
			t.ask("a1", "call")
			t.resolve("a1", "rejected")
			t.start()
		}},
		{"what runs is what was approved", func(t *story) {
			t.approved()
			t.event("call.started.v1", `{"call":"c1.1","digest":"other"}`)
		}},
		{"what runs is what was approved", func(t *story) {
			t.approved()
			t.event("call.started.v1", `{"call":"c1.1","digest":"d","args":{"n":2}}`)
		}},
		{"what runs is what was approved", func(t *story) {
			t.approved()
			t.start()
			t.enterIn(t.p, 1, 1)
		}},
		{"a tool gets arguments that fit its schema", func(t *story) { t.begin("once_plain"); t.start(); t.enterIn(t.p, 0, 2) }},
		{"what may not be repeated runs again only when a person says so", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.event("call.unknown.v1", `{"call":"c1.1"}`)
			t.start()
		}},
		{"a call is repeated only after a crash", func(t *story) {
			t.begin("readonly_plain")
			t.start()
			t.event("call.unknown.v1", `{"call":"c1.1"}`)
			t.start()
		}},
		{"", func(t *story) {
			t.begin("readonly_plain")
			t.start()
			t.claimBy(t.s.Process("next"))
			t.event("call.unknown.v1", `{"call":"c1.1"}`)
			t.start()
		}},
		{"", func(t *story) { t.keeping(); t.again(); t.enterWith(`{"n":1}`, 0) }},
		{"", func(t *story) { // a suspension without a state leaves what was kept
			t.keeping()
			t.event("call.suspended.v1", `{"call":"c1.1","asks":[{}]}`)
			t.event("call.resumed.v1", `{"call":"c1.1"}`)
			t.enterWith(`{"n":1}`, 1)
		}},
		{"a call is entered again with what it kept", func(t *story) { t.keeping(); t.again(); t.enter(0) }},
		{"a call is entered again with what it kept", func(t *story) {
			t.keeping()
			t.event("call.checkpoint.v1", `{"call":"c1.1","state":{"n":2}}`)
			t.again()
			t.enterWith(`{"n":1}`, 0)
		}},
		{"a call is entered again with what it kept", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.enterWith(`{"n":1}`, 0)
		}},
		{"a call is entered again with what it kept", func(t *story) {
			t.keeping()
			t.event("call.suspended.v1", `{"call":"c1.1","state":3,"asks":[{}]}`)
			t.event("call.resumed.v1", `{"call":"c1.1"}`)
			t.event("call.checkpoint.v1", `{"call":"c1.1","state":4}`)
			t.again()
			t.enterWith(`4`, 1)
		}},
		{"a call is repeated only after a crash", func(t *story) { t.keeping(); t.unknown("died"); t.start() }},
		{"a call is repeated only after a crash", func(t *story) { t.keeping(); t.claim(); t.unknown("tool"); t.start() }},
		{"a call is repeated only after a crash", func(t *story) { t.keeping(); t.claim(); t.unknown("timeout"); t.start() }},
		{"a call is repeated a few times only", func(t *story) {
			t.keeping()
			for range maxAgain + 1 {
				t.again()
			}
		}},
		{"what may not be repeated runs again only when a person says so", func(t *story) {
			t.keeping()
			t.claim()
			t.unknown("died")
			t.event("call.started.v1", `{"call":"c1.1","attempt":2}`)
		}},
		{"a checkpoint is durable when it returns", func(t *story) { t.keeping(); t.m.kept(t.b.Ledger.Runs[0], `{"n":2}`) }},
		{"the life of a call", func(t *story) { t.begin("once_plain"); t.event("call.checkpoint.v1", `{"call":"c1.1","state":1}`) }},
		{"the life of a call", func(t *story) { t.begin("once_plain"); t.start(); t.start() }},
		{"the life of a call", func(t *story) { t.begin("once_plain"); t.event("call.resumed.v1", `{"call":"c1.1"}`) }},
		{"the life of a call", func(t *story) {
			t.begin("once_plain")
			t.event("call.finished.v1", `{"call":"c1.1"}`)
			t.event("call.finished.v1", `{"call":"c1.1"}`)
		}},
		{"", func(t *story) {
			t.begin("once_plain")
			t.say(store.Change{}, "call.cancel.v1", `{"call":"c1.1"}`, "call.finished.v1", `{"call":"c1.1","outcome":"canceled"}`)
		}},
		{"a canceled call ends at once unless it runs", func(t *story) { t.begin("once_plain"); t.event("call.cancel.v1", `{"call":"c1.1"}`) }},
		{"a canceled call is never entered again", func(t *story) {
			t.begin("once_plain")
			t.say(store.Change{}, "call.cancel.v1", `{"call":"c1.1"}`, "call.started.v1", `{"call":"c1.1","attempt":1}`)
		}},
		{"a canceled call ends as what is known of it", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.say(store.Change{}, "call.cancel.v1", `{"call":"c1.1"}`, "call.finished.v1", `{"call":"c1.1","outcome":"canceled"}`)
		}},
		{"nobody is asked about a canceled call", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.event("call.cancel.v1", `{"call":"c1.1"}`)
			t.ask("a1", "outcome")
		}},
		{"a call is planned first", func(t *story) { t.begin("once_plain"); t.event("call.started.v1", `{"call":"c9.9"}`) }},
		{"a call is asked for once at a time", func(t *story) { t.begin("gated_once_plain"); t.ask("a1", "call"); t.ask("a2", "call") }},
		{"questions about different things have different digests", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.event("call.suspended.v1", `{"call":"c1.1"}`)
			for i, kind := range []string{"call", "outcome"} {
				t.event("approval.requested.v1", fmt.Sprintf(`{"id":"a%d","call":"c1.1","kind":%q,"state":"pending","ask":"id:%d","digest":"d"}`, i, kind, i))
			}
		}},
		{"a question is asked once at a time", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.event("call.suspended.v1", `{"call":"c1.1"}`)
			for _, id := range []string{"a1", "a2"} {
				t.event("approval.requested.v1", `{"id":"`+id+`","call":"c1.1","kind":"question","state":"pending","ask":"id:q"}`)
			}
		}},
		{"an approval expires at its newest deadline", func(t *story) {
			t.begin("gated_once_plain")
			t.ask("a1", "call")
			t.resolve("a1", "expired")
		}},
		{"what is pending gets a later deadline, in time", func(t *story) {
			t.approved()
			t.event("approval.extended.v1", `{"id":"a1","until":"2030-01-01T00:00:00Z"}`)
		}},
		{"nobody is reminded of what has ended", func(t *story) {
			t.approved()
			t.event("approval.reminded.v1", `{"id":"a1","at":"2030-01-01T00:00:00Z"}`)
		}},
		{"a reminder and an escalation come once, in time", func(t *story) {
			t.begin("gated_once_plain")
			t.askTimed()
			t.event("approval.escalated.v1", `{"id":"a1","at":"2030-01-01T00:00:00.020Z"}`)
			t.event("approval.escalated.v1", `{"id":"a1","at":"2030-01-01T00:00:00.021Z"}`)
		}},
		{"an approval is escalated before a reminder", func(t *story) {
			t.begin("gated_once_plain")
			t.askTimed()
			t.event("approval.reminded.v1", `{"id":"a1","at":"2030-01-01T00:00:00.020Z"}`)
		}},
		{"an approval is resolved once", func(t *story) {
			t.approved()
			t.resolve("a1", "rejected")
		}},
		{"", func(t *story) { t.holding(); t.decideHeld("responded") }},
		{"an answer is for the run that asked", func(t *story) { t.holding(); t.claim(); t.decideHeld("responded") }},
		{"an answer is for the run that asked", func(t *story) {
			t.holding()
			t.h = t.d.Handle(t.s.Process("another"))
			t.decideHeld("rejected")
		}},
		{"a question expires at its deadline", func(t *story) { t.holding(); t.decideHeld("expired") }},
		{"a question holds a call while it runs", func(t *story) { t.holding(); t.unknown("died") }},
		{"a call is held by one question at a time", func(t *story) { t.holding(); t.askHeld("h2") }},
		{"a question that holds a call has a running call and a deadline", func(t *story) { t.begin("once_plain"); t.askHeld("h1") }},
		{"a task whose calls are held waits for input", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.fence = new(uint64(1))
			t.askHeld("h1")
		}},
		{"", func(t *story) { t.holding(); t.decideHeld("responded"); t.told(tool.AnswerResponded, nil, false) }},
		{"an answer is durable before its tool has it", func(t *story) { t.holding(); t.told(tool.AnswerResponded, nil, false) }},
		{"an answer reaches the tool that waits", func(t *story) {
			t.holding()
			t.decideHeld("responded")
			t.told("", tool.ErrNoAnswer, false)
		}},
		{"", func(t *story) { t.holding(); t.decideHeld("responded"); t.told("", tool.ErrNoAnswer, true) }},
		{"what is asked is still open", func(t *story) {
			t.begin("gated_once_plain")
			t.ask("a1", "call")
			t.event("call.finished.v1", `{"call":"c1.1"}`)
		}},
		{"nothing runs in a task at rest", func(t *story) { t.begin("once_plain"); t.start(); t.say(store.Change{Phase: store.Parked}) }},
		{"a task at rest waits for something", func(t *story) { t.begin("once_plain"); t.say(store.Change{Phase: store.Parked}) }},
		{"a client that may not decide is not asked", func(t *story) {
			t.begin("gated_once_plain")
			t.event("approval.requested.v1", `{"v":1,"id":"a1","kind":"call","state":"pending","call":"c1.1","digest":"d","terms":{"gate":"r","fourEyes":true}}`)
		}},
		{"a task at rest says what it waits for", func(t *story) {
			t.begin("gated_once_plain")
			t.ask("a1", "call")
			t.say(store.Change{Phase: store.Parked})
		}},
		{"the header counts what is pending", func(t *story) { t.begin("once_plain"); t.say(store.Change{Pending: new(uint32(1))}) }},
		{"nothing is open at the end", func(t *story) {
			t.begin("once_plain")
			t.say(store.Change{Phase: store.Final}, "status", status("COMPLETED"))
		}},
		{"the end of a task is its end", func(t *story) {
			t.begin("once_plain")
			t.say(store.Change{Phase: store.Final}, "call.finished.v1", `{"call":"c1.1"}`, "status", status("COMPLETED"))
			t.event("artifact", `{}`)
		}},
		{"the table of states", func(t *story) { t.begin("once_plain"); t.event("status", status("SUBMITTED")) }},
		{"a turn writes under its own fence", func(t *story) {
			t.begin("readonly_plain")
			t.claimBy(t.s.Process("next"))
			t.fence = new(uint64(2))
			t.start()
		}},
		{"rows say what the log says", func(t *story) {
			t.begin("gated_once_plain")
			t.h.Append(context.Background(), &store.Batch{
				Scope: store.System(), Task: storyTask, Rev: new(t.rev),
				Rows: []store.RowChange{{Kind: "approval", Key: []byte("a1"), Value: []byte(`{"id":"a1","state":"pending"}`)}},
			})
			t.d.Commit(1)
		}},
		{"", func(t *story) { t.begin("once_plain"); t.start(); t.sets("a", `{"a":{"run":1}}`, "a", `{"run":1}`) }},
		{"what a call has set is kept", func(t *story) { t.begin("once_plain"); t.start(); t.sets("a", `{}`) }},
		{"what a call has set is kept", func(t *story) { t.begin("once_plain"); t.start(); t.sets("a", `{"a":{"run":1}}`) }},
		{"what a call has set is kept", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.sets("a", `{"b":{"run":1}}`, "b", `{"run":1}`)
		}},
		{"what a call has set is kept", func(t *story) { t.begin("once_plain"); t.start(); t.ends(`"outcome":"ok"`, "a", `{"run":1}`) }},
		{"", func(t *story) { t.begin("once_plain"); t.start(); t.sets("temp:a", `{"temp:a":{"run":1}}`) }},
		{"what a call has set is kept", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.sets("temp:a", `{"temp:a":{"run":1}}`, "temp:a", `{"run":1}`)
		}},
		{"the state of a context is bounded", func(t *story) {
			t.begin("once_plain")
			t.start()
			t.enter(0)
			r := t.b.Ledger.Runs[0]
			value := `{"fill":"` + strings.Repeat("x", maxStateBytes) + `","run":1}`
			r.Returned, r.Paused, r.Sets = true, false, map[string]json.RawMessage{"a": json.RawMessage(value)}
			t.ends(`"outcome":"ok","result":{"run":1},"delta":{"a":`+value+`}`, "a", value)
		}},
		{"a call sees the state of its context", func(t *story) { t.begin("once_plain"); t.start(); t.enterSeeing(fakeState{"a": 1}) }},
		{"", func(t *story) {
			t.begin("once_plain")
			c := t.m.contexts[0]
			c.writes = []stateWrite{{"a", "1"}, {"a", "2"}}
			t.start()
			t.enterSeeing(fakeState{"a": 2})
		}},
		{"a call sees the state of its context", func(t *story) { // what was there when its task was changed before
			t.begin("once_plain")
			t.m.contexts[0].writes = []stateWrite{{"a", "1"}, {"a", "2"}}
			t.event("status", status("WORKING"))
			t.start()
			t.enterSeeing(fakeState{"a": 1})
		}},
		{"events can be read", func(t *story) { t.begin("once_plain"); t.event("call.started.v1", `{`) }},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.rule), func(t *testing.T) {
			t.Parallel()
			s := newStory()
			defer s.s.Close()
			tt.tell(s)
			s.breaks(t, tt.rule)
		})
	}
}
