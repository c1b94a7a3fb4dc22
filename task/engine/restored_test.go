package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

var operator = auth.Principal{Tenant: "acme", Subject: "operator", Roles: []string{auth.RoleAdmin}, Method: "test"}

// restore ends the process of a world as a crash does, marks its store as restored from a backup
// of now, and starts another process.
func (k *killer) restore() (moment time.Time) {
	k.w.t.Helper()
	k.mark()
	moment = time.Now()
	k.w.tools.reset()
	k.w.start()
	synctest.Wait()
	return moment
}

// mark is restore without another process.
func (k *killer) mark() {
	k.w.t.Helper()
	k.die()
	k.w.stop()
	k.w.disk.reopen(k.w.t)
	h, err := k.w.disk.Handle()
	k.w.must(err)
	k.w.must(engine.MarkRestored(k.w.ctx(), h, time.Now(), time.Now()))
	k.w.must(h.Close())
}

// resume lets the world continue.
func (w *world) resume() {
	w.t.Helper()
	if _, was, err := w.engine.Resume(w.ctx(), operator); err != nil || !was {
		w.t.Fatalf("Resume() = %t, %v", was, err)
	}
	synctest.Wait()
}

// entries returns the newest entries of the audit about a subject.
func (w *world) entries(what approval.AuditEvent) (found []engine.AuditEntry) {
	w.t.Helper()
	_, err := w.engine.EachAudit(w.ctx(), 0, func(e *engine.AuditEntry) bool {
		if e.What == what {
			found = append(found, *e)
		}
		return true
	})
	w.must(err)
	return found
}

// open are the calls that may be open at the moment of a backup.
var open = []struct {
	name  string
	tools func(c *counted) tool.Tool
	// begin brings the one call of the task to where it is open.
	begin func(w *world, id a2a.TaskID, c *counted)
	kind  approval.Kind // that is asked after the restoration
	hint  string
	runs  int // before the restoration
}{
	{"asked", gatedTool, func(w *world, id a2a.TaskID, _ *counted) { w.onlyOne(id) }, approval.KindCall, "It may have been decided after ", 0},
	{"running", plainTool, nil, approval.KindOutcome, "it was started before the server was restored", 1},
	{"running, read-only", func(c *counted) tool.Tool {
		return &fake{name: "t", is: tool.Annotations{ReadOnly: true}, call: c.holdsOnce}
	}, nil, approval.KindOutcome, "it was started before", 1},
	{"approved and running", gatedRun, func(w *world, id a2a.TaskID, _ *counted) { w.approves(id) }, approval.KindOutcome, "it was started before", 1},
	{"with a checkpoint", func(c *counted) tool.Tool {
		return &fake{name: "t", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			err := tool.Checkpoint(ctx, json.RawMessage(`{"n":1}`))
			if err != nil {
				return nil, err
			}
			return c.holdsOnce(ctx, a)
		}}
	}, nil, approval.KindOutcome, "it was started before", 1},
	{"suspended", func(c *counted) tool.Tool {
		return &fake{name: "t", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if c.enter(ctx) == 1 {
				return nil, &tool.Suspension{Wake: time.Now().Add(time.Minute)}
			}
			return args{}, nil
		}}
	}, nil, approval.KindOutcome, "it was started before", 1},
	{"asks a question", func(c *counted) tool.Tool {
		return &fake{name: "t", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if c.enter(ctx) == 1 {
				return nil, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "which one?"}}}
			}
			return args{}, nil
		}}
	}, nil, approval.KindOutcome, "it was started before", 1},
	{"held by a question", func(c *counted) tool.Tool {
		return &fake{name: "t", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if c.enter(ctx) == 1 {
				_, err := tool.AskAndWait(ctx, tool.Question{Kind: tool.AskQuestion, Hint: "which one?"})
				return nil, err
			}
			return args{}, nil
		}}
	}, nil, approval.KindOutcome, "it was started before", 1},
	{"uncertain", func(c *counted) tool.Tool {
		return &fake{name: "t", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if c.enter(ctx) == 1 {
				return nil, tool.ErrOutcomeUnknown
			}
			return args{}, nil
		}}
	}, nil, approval.KindOutcome, "it was started before", 1},
}

func gatedTool(c *counted) tool.Tool { return &fake{name: "t", gated: true, call: c.enters} }
func plainTool(c *counted) tool.Tool { return &fake{name: "t", call: c.holdsOnce} }
func gatedRun(c *counted) tool.Tool  { return &fake{name: "t", gated: true, call: c.holdsOnce} }

// After a restoration nothing that was open continues by itself: it is asked about, on another
// digest, and a decision from before does not count.
func TestRestoredCallsAreAskedAbout(t *testing.T) {
	t.Parallel()
	for _, tt := range open {
		runOnEachDisk(t, tt.name, func(t *testing.T, w *world) {
			c, k := w.counted(), w.killer()
			w.startTools(tt.tools(c))
			id := w.begin(w.calls("t", args{}))
			synctest.Wait()
			if tt.begin != nil {
				tt.begin(w, id, c)
				synctest.Wait()
			}
			before := w.asked(id)
			c.want(t, tt.runs)

			k.restore()
			pass(time.Hour) // no timer continues it
			c.want(t, tt.runs)
			a := w.onlyOne(id)
			if a.Kind != tt.kind || !strings.Contains(a.Question(), tt.hint) || a.Ask != "" {
				t.Errorf("asked is the %s: %q, want the %s with %q", a.Kind, a.Question(), tt.kind, tt.hint)
			}
			for i := range before {
				if before[i].Digest == a.Digest {
					t.Errorf("%s has the digest of %s, from before the restoration", a.ID, before[i].ID)
				}
				if err := w.decide(bob, id, approval.Decision{ID: a.ID, Digest: before[i].Digest, Type: approval.Approve}); err == nil {
					t.Errorf("a decision with the digest of %s counts", before[i].ID)
				}
			}
			c.want(t, tt.runs)

			w.approves(id)
			synctest.Wait()
			c.want(t, tt.runs+1)
			got := w.get(id)
			w.wantState(got, a2a.TaskStateWorking)
			if !strings.Contains(statusText(got), "waits for its operator: a2a-server store resume") {
				t.Errorf("the task says %q", statusText(got))
			}
			w.resume()
			w.wantState(w.get(id), a2a.TaskStateCompleted)
			w.nothingDue(id)
		})
	}
}

// three starts a task of three calls that start together: one is approved with other arguments, one
// is asked about, and one needs no approval.
func (w *world) three(k *killer, change func(*engine.Config)) a2a.TaskID {
	w.t.Helper()
	w.cfg.HoldSiblings = true
	w.start()
	id := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}, "deadline", args{}, "write", args{"amount": 3, "to": "y"})).ID
	edited := approval.Decision{ID: w.waiting(id)[0].ID, Type: approval.Edit, Args: json.RawMessage(`{"amount":2,"to":"x"}`)}
	w.must(w.decide(bob, id, edited))
	synctest.Wait()
	k.mark()
	w.start(change)
	synctest.Wait()
	return id
}

// A call that was not started is asked about, whatever was decided and whatever the policy says,
// and keeps the terms on which it was asked.
func TestRestoredUnstartedCallsAreAskedAbout(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.cfg.Policy = policy(t, approval.Gate{Name: "money", Tool: "deadline", Terms: approval.Terms{FourEyes: true}})
		id := w.three(k, func(cfg *engine.Config) {
			cfg.Policy = policy(t, approval.Gate{Tool: "deadline", Action: approval.ActionAllow})
		})
		hints := map[string]string{"transfer": "It was planned before", "deadline": "It may have been decided after", "write": "It was planned before"}
		pending := w.waiting(id)
		if len(pending) != len(hints) {
			t.Fatalf("%d approvals are pending, want %d", len(pending), len(hints))
		}
		for _, a := range pending {
			if !strings.HasPrefix(a.Question(), hints[a.Tool]) || a.Kind != approval.KindCall {
				t.Errorf("%s of kind %s asks %q, want %q", a.Tool, a.Kind, a.Question(), hints[a.Tool])
			}
			if a.Tool == "deadline" && (!a.Terms.FourEyes || a.Terms.Gate != "money") {
				t.Errorf("the terms of %s are %+v, want those of before", a.Tool, a.Terms)
			}
			if a.Tool == "transfer" && string(a.Args) != `{"amount":2,"to":"x"}` {
				t.Errorf("%s is asked about with %s, want the edited arguments", a.Tool, a.Args)
			}
			w.must(w.decide(bob, id, approval.Decision{ID: a.ID, Digest: a.Digest, Type: approval.Approve}))
		}
		synctest.Wait()
		for name := range hints {
			w.wantRuns(name, 1)
		}
		w.resume()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}

// A laxer gate takes nothing off the terms of what was asked before.
func TestRestoredCallsKeepTheirTerms(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.cfg.Policy = policy(t, approval.Gate{Name: "money", Tool: "deadline", Terms: approval.Terms{FourEyes: true}})
		id := w.three(k, func(cfg *engine.Config) {
			cfg.Policy = policy(t, approval.Gate{Name: "lax", Tool: "deadline"})
		})
		for _, a := range w.waiting(id) {
			if a.Tool == "deadline" && (!a.Terms.FourEyes || a.Terms.Gate != "lax") {
				t.Errorf("the terms of %s are %+v, want those of both gates", a.Tool, a.Terms)
			}
		}
		w.cancel(id)
	})
}

// What the policy denies by now stays denied, although it was approved before.
func TestRestoredCallsMayBeDenied(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		k := w.killer()
		id := w.three(k, func(cfg *engine.Config) {
			cfg.Policy = policy(t, approval.Gate{Tool: "transfer", Action: approval.ActionDeny})
		})
		for _, a := range w.waiting(id) {
			if a.Tool == "transfer" {
				t.Errorf("%s is asked about: %s", a.Tool, a.Question())
			}
		}
		w.cancel(id)
		w.wantRuns("transfer", 0)
	})
}

// refuses checks that a message is refused because the store was restored from a backup of a moment.
func (w *world) refuses(m *a2a.Message, moment time.Time) {
	w.t.Helper()
	want := "the server was restored from a backup of " + moment.UTC().Format(time.RFC3339) + " and waits for its operator: a2a-server store resume"
	if _, err := w.sendAs(alice, m); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), want) {
		w.t.Errorf("Send() = %v, want an ErrUnavailable with %q", err, want)
	}
}

// A restored store holds planners and timers, and takes no new tasks, over restarts, until an
// operator lets it continue: what arrives may have been sent before.
func TestRestoredStoreWaitsForItsOperator(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var planned atomic.Int64
		steps := func(int) *task.Step {
			switch planned.Add(1) {
			case 1:
				return &task.Step{Wait: time.Minute}
			case 2:
				return callsOf("transfer", `{"amount":1,"to":"x"}`)
			}
			return callsOf("echo", `{}`)
		}
		for _, inline := range []bool{true, false} {
			planned.Store(0)
			k := w.killer()
			w.cfg.Planner = &stepper{n: 2, step: steps, inline: inline}
			w.start()
			sleeps := w.begin(w.calls("any", args{}))
			synctest.Wait()
			asked := w.begin(w.calls("any", args{}))
			synctest.Wait()
			moment := k.restore()
			w.approves(asked) // its call ends, and its planner waits
			pass(time.Hour)
			k.crash()
			w.refuses(w.calls("any", args{}), moment)
			pass(time.Hour)
			if at, held := w.engine.Held(); !held || !at.Equal(moment) || planned.Load() != 2 {
				t.Errorf("inline %t: held is %t, of %v; the planner was asked %d times", inline, held, at, planned.Load())
			}
			if said := statusText(w.get(asked)); !strings.Contains(said, "restored from a backup of "+moment.UTC().Format(time.RFC3339)) {
				t.Errorf("inline %t: a task whose call has ended says %q", inline, said)
			}
			says := 0
			for _, e := range w.events(asked) {
				if e.Public && strings.Contains(string(e.Data), "waits for its operator") {
					says++
				}
			}
			if says != 1 {
				t.Errorf("inline %t: %d status updates after two starts say why it waits, want one", inline, says)
			}
			if _, _, err := w.engine.Resume(w.ctx(), bob); !errors.As(err, new(*auth.DeniedError)) {
				t.Errorf("Resume() of an approver = %v, want a DeniedError", err)
			}
			w.resume()
			pass(2 * time.Minute)
			for _, id := range []a2a.TaskID{sleeps, asked} {
				w.wantState(w.get(id), a2a.TaskStateCompleted)
			}
			if at, was, err := w.engine.Resume(w.ctx(), operator); err != nil || was || !at.Equal(moment) {
				t.Errorf("Resume() again = %v, %t, %v", at, was, err)
			}
			w.restart()
			if _, held := w.engine.Held(); held {
				t.Error("a store that was resumed waits again")
			}
			w.stop()
			w.disk.reopen(t)
		}
		w.start()
		for what, by := range map[approval.AuditEvent]string{approval.AuditRestored: "", approval.AuditResumed: "operator"} {
			if found := w.entries(what); len(found) != 2 || found[1].By.Subject != by || !strings.HasPrefix(found[1].Reason, "a backup of ") {
				t.Errorf("the audit has %+v", found)
			}
		}
	})
}

// A handle on which the first writes succeed, and then none.
func dyingAfter(h store.Handle, writes int64) store.Handle {
	var n atomic.Int64
	return &onAppend{Handle: h, do: func(b *store.Batch) (*store.Batch, error) {
		if n.Add(1) > writes {
			return nil, errDead
		}
		return b, nil
	}}
}

// However often the process dies while it brings tasks up to date, each is once, before anything
// else happens to it.
func TestRestorationThatIsKilled(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		const tasks = 150
		k := w.killer()
		w.start(func(cfg *engine.Config) { cfg.Limits = task.Limits{Turns: tasks, TurnsPerCaller: tasks} })
		var ids []a2a.TaskID
		for i := range tasks {
			ids = append(ids, w.begin(w.calls([]string{"transfer", "block"}[i%2], args{"amount": 1, "to": "x"})))
		}
		synctest.Wait()
		k.die()
		w.stop()
		w.disk.reopen(t)
		moment := time.Now()
		for _, writes := range []int64{1, 40, tasks + 1} { // also marking may be cut off
			h, err := w.disk.Handle()
			w.must(err)
			if err := engine.MarkRestored(w.ctx(), dyingAfter(h, writes), moment, moment); (err == nil) != (writes > tasks) {
				t.Fatalf("MarkRestored() with %d writes = %v", writes, err)
			}
			w.must(h.Close())
		}
		for _, writes := range []int64{0, 20, 70, 1 << 40} {
			w.wrap = func(h store.Handle) store.Handle { return dyingAfter(h, writes) }
			w.start()
			synctest.Wait()
			if writes < tasks {
				w.stop()
				w.disk.reopen(t)
			}
		}
		for _, id := range ids {
			n := 0
			for _, e := range w.events(id) {
				if e.Kind == "task.restored.v1" {
					n++
				}
			}
			if a := w.onlyOne(id); n != 1 || !strings.Contains(a.Question(), "the server was restored") {
				t.Errorf("task %s was brought up to date %d times, and asks %q", id, n, a.Question())
			}
		}
		if len(w.entries(approval.AuditRestored)) != 1 {
			t.Error("the audit has the restoration more than once")
		}
	})
}

// A task that cannot be read when it is to be brought up to date stands still, and accepts nothing,
// until a process can read it; the others are not in its way.
func TestRestoredTaskThatIsDamaged(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		lost, other := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"})), w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
		running := w.begin(w.calls("sleep", args{}))
		synctest.Wait()
		old := w.onlyOne(lost)
		k := &killer{w: w, last: &mortal{Handle: w.store}}
		k.mark()
		r := &rotten{lost: mustID(lost)}
		w.wrap = func(h store.Handle) store.Handle {
			r.set(func(r *rotten) { r.Handle = h })
			return r
		}
		w.start()
		synctest.Wait()
		r.set(func(r *rotten) { r.lost = store.TaskID{} })
		if _, held := w.engine.Held(); !held {
			t.Fatal("the store is not held")
		}
		w.resume()
		pass(time.Hour)
		if err := w.decide(bob, lost, approval.Decision{ID: old.ID, Digest: old.Digest, Type: approval.Approve}); !errors.Is(err, store.ErrDataLoss) || !strings.Contains(err.Error(), "could not be brought up to date") {
			t.Errorf("Decide() = %v, want that the task was not brought up to date", err)
		}
		if err := w.engine.Cancel(w.ctx(), alice, mustID(lost)); !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("Cancel() = %v, want ErrDataLoss", err)
		}
		w.wantRuns("transfer", 0)
		w.approves(other)
		synctest.Wait()
		w.wantRuns("transfer", 1)
		w.wantState(w.get(running), a2a.TaskStateInputRequired)

		w.wrap = k.wrap
		k.restore() // from a backup of now: it can be read, and comes to two restorations at once
		if n := strings.Count(fmt.Sprint(w.events(lost)), "task.restored.v1"); n != 2 {
			t.Errorf("the log has %d restorations, want 2", n)
		}
		if a := w.onlyOne(lost); a.Digest == old.Digest || len(w.dueOf(lost)) != 0 {
			t.Errorf("the digest is that of before: %t; %d rows are due, want none", a.Digest == old.Digest, len(w.dueOf(lost)))
		}
	})
}

// The right to decide a store's restoration is in no name: rows of the mark are out of reach.
func TestRestorationOwnerIsNoCaller(t *testing.T) {
	t.Parallel()
	owner := record.RestorationOwner()
	p := auth.Principal{Tenant: owner.TenantName(), Subject: owner.Subject(), Roles: []string{auth.RoleAdmin}}
	if p.Validate() == nil || engine.ScopeFor(p, auth.Read) != (store.Scope{}) {
		t.Errorf("a caller may be %q", p.Subject)
	}
}

// A store that goes back to a copy does not know what followed: a decision of that time counts no
// more, although its approval has the same id, and what has run runs again only if a person says so.
func TestRestoredStoreForgetsDecisions(t *testing.T) {
	t.Parallel()
	d := newBolt(t)
	w := newWorld(t, d)
	k := w.killer()
	end := func() {
		k.die()
		w.stop()
		w.must(d.Close())
	}
	w.start()
	id := w.send(w.calls("transfer", args{"amount": 1, "to": "x"})).ID
	end()
	backup, err := os.ReadFile(d.path)
	w.must(err)
	d.DB = nil
	d.reopen(t)
	w.start()
	old := w.onlyOne(id)
	w.must(w.decide(bob, id, approval.Decision{ID: old.ID, Digest: old.Digest, Type: approval.Approve}))
	w.ended(id)
	end()
	d.DB = nil
	w.must(os.WriteFile(d.path, backup, 0o600))
	w.must(os.Remove(filepath.Join(filepath.Dir(d.path), "."+filepath.Base(d.path)+".epoch"))) // else it is refused
	d.reopen(t)
	k.mark()
	w.start()
	<-w.engine.Settled()
	if w.onlyOne(id).ID == old.ID {
		t.Fatal("the approval of before is still pending")
	}
	for _, digest := range []string{old.Digest, ""} {
		if err := w.decide(bob, id, approval.Decision{ID: old.ID, Digest: digest, Type: approval.Approve}); err == nil {
			t.Errorf("the decision of before counts, with digest %q", digest)
		}
	}
	if err := w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Digest: old.Digest, Type: approval.Approve}); err == nil {
		t.Error("the digest of before counts")
	}
	w.wantRuns("transfer", 1)
	w.approves(id)
	w.until("the call runs again", func() bool { return w.tools.count("transfer") == 2 })
}

// What a client sent in the time after the backup arrives again: it decides nothing, because it is
// about a question of that time.
func TestRestoredStoreForgetsWhatWasSent(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]func(w *world, id a2a.TaskID) *a2a.Message{
		"yes": func(w *world, id a2a.TaskID) *a2a.Message { return w.reply(id, a2a.NewTextPart("yes")) },
		"no":  func(w *world, id a2a.TaskID) *a2a.Message { return w.reply(id, a2a.NewTextPart("no")) },
		"extension": func(w *world, id a2a.TaskID) *a2a.Message {
			return w.decision(id, approve(string(id)+".a2"))
		},
		"ADK": func(w *world, id a2a.TaskID) *a2a.Message {
			return w.functionResponse(id, args{"id": string(id) + ".a2", "name": "adk_request_confirmation", "response": args{"confirmed": true}})
		},
		"the name of a call": func(w *world, id a2a.TaskID) *a2a.Message {
			return w.functionResponse(id, args{"id": "c1.1", "name": "adk_request_confirmation", "response": args{"confirmed": true}})
		},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			k, c := w.killer(), w.counted()
			w.startTools(gatedTool(c))
			id := w.begin(w.calls("t", args{}))
			synctest.Wait()
			sent := message(w, id) // about the question after the next, which is lost
			k.restore()
			asked := w.onlyOne(id)
			_, err := w.sendAs(alice, sent)
			synctest.Wait()
			if a := w.onlyOne(id); a.ID != asked.ID {
				t.Errorf("Send() = %v, and then %s waits, want %s", err, a.ID, asked.ID)
			}
			c.want(t, 0)
			w.sent(w.reply(id, a2a.NewTextPart("yes "+asked.Code)))
			synctest.Wait()
			c.want(t, 1)
		})
	}
}

// lateTools is a toolset that cannot be reached for a while, as an MCP server that starts with the
// restored server.
type lateTools struct {
	tool.Toolset
	late atomic.Bool
}

func (l *lateTools) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	if l.late.Load() {
		return nil, errors.New("the server of the tools cannot be reached")
	}
	return l.Toolset.Tools(ctx)
}

// A call whose tool cannot be reached at the start is asked about as soon as it can, before the
// operator lets the store continue.
func TestRestoredCallsWhoseToolsComeLate(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]int{"transfer": 0, "block": 1} { // before the restoration
		runInMemory(t, name, func(t *testing.T, w *world) {
			k := w.killer()
			tools := &lateTools{Toolset: tool.NewToolset("test", w.tools.all()...)}
			with := func(cfg *engine.Config) { cfg.Tools = tool.NewRegistry(tools) }
			w.start(with)
			id := w.begin(w.calls(name, map[string]args{"transfer": {"amount": 1, "to": "x"}, "block": {}}[name]))
			synctest.Wait()
			k.mark()
			w.tools.reset()
			tools.late.Store(true)
			w.start(with)
			pass(10 * time.Millisecond)
			if n := len(w.waiting(id)); n > 0 {
				t.Fatalf("%d approvals are pending although the tool cannot be reached", n)
			}
			tools.late.Store(false)
			pass(time.Hour)
			w.wantRuns(name, runs)
			w.approves(id)
			pass(time.Minute)
			w.wantRuns(name, runs+1)
		})
	}
}

// More calls may be open than a task may have approvals: each is asked about.
func TestManyRestoredCallsAreAskedAbout(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.cfg.Limits = task.Limits{Pending: 3, Calls: 8}
		w.cfg.HoldSiblings = true
		w.start()
		var calls []any
		for range 5 {
			calls = append(calls, "block", args{})
		}
		running := w.begin(w.calls(calls...))
		planned := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}, "write", args{"amount": 1, "to": "x"}, "write", args{"amount": 2, "to": "x"},
			"write", args{"amount": 3, "to": "x"}, "write", args{"amount": 4, "to": "x"}))
		synctest.Wait()
		k.restore()
		for _, id := range []a2a.TaskID{running, planned} {
			if n := len(w.waiting(id)); n != 5 {
				t.Errorf("%d calls are asked about, want 5", n)
			}
		}
		w.wantRuns("write", 0)
	})
}

// A confirmation provider does not decide about what may have run: a person does.
func TestRestoredCallsAreNotForTheProvider(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.cfg.ProviderWait = time.Hour
		w.cfg.Decider = task.ProviderDecider(func(ctx context.Context, _ tool.ConfirmationRequest) (bool, error) {
			<-ctx.Done()
			return false, context.Cause(ctx)
		})
		w.start()
		id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
		synctest.Wait()
		w.cfg.Decider = task.ProviderDecider(func(context.Context, tool.ConfirmationRequest) (bool, error) { return true, nil })
		k.restore()
		pass(24 * time.Hour)
		w.wantRuns("transfer", 0)
		w.approves(id)
		synctest.Wait()
		w.wantRuns("transfer", 1)
		w.nothingDue(id)
		w.resume()
		w.begin(w.calls("transfer", args{"amount": 2, "to": "x"}))
		synctest.Wait()
		w.wantRuns("transfer", 2)
	})
}

// A call that is planned after a restoration is another than the lost one in its place, although the
// other side may know that one by its id; a call that was planned before is the same call.
func TestRestoredCallsHaveTheirIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newBolt(t)
		w := newWorld(t, d)
		payee, paid, firsts := "x", map[string]string{}, map[string]int{}
		w.cfg.Planner = &stepper{n: 2, inline: true, step: func(i int) *task.Step {
			if i == 0 {
				return callsOf("first", `{}`)
			}
			s := callsOf("pay", `{"to":"`+payee+`"}`)
			s.Calls[0].Alias = "the payment"
			return s
		}}
		first := &fake{name: "first", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			firsts[ctx.FunctionCallID()]++
			return args{}, nil
		}}
		w.startTools(first, &fake{name: "pay", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			to := fmt.Sprint(a["to"])
			if was, known := paid[ctx.FunctionCallID()]; known {
				t.Errorf("the call %s paid %s, and pays %s now", ctx.FunctionCallID(), was, to)
			}
			paid[ctx.FunctionCallID()] = to
			return args{}, nil
		}})
		id := w.begin(w.calls("any", args{}))
		synctest.Wait()
		var backup bytes.Buffer
		b, err := d.Backup(t.Context(), &backup)
		w.must(err)
		w.approves(id) // life goes on
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
		w.stop()
		w.must(d.Close())
		d.DB = nil
		w.must(os.Remove(d.path))
		_, err = boltstore.Options{}.Restore(t.Context(), &backup, d.path, func(ctx context.Context, h store.Handle, _ boltstore.Backup) error {
			return engine.MarkRestored(ctx, h, b.Moment, time.Now())
		})
		w.must(err)
		d.reopen(t)
		payee = "y"
		w.start()
		synctest.Wait()
		w.approves(id)
		w.resume()
		pass(time.Minute)
		w.wantState(w.get(id), a2a.TaskStateCompleted)
		if len(paid) != 2 || firsts["c1.1"] != 2 {
			t.Errorf("the payments are %v, the others %v", paid, firsts)
		}
		if aliased := strings.Count(fmt.Sprint(w.events(id)), "the payment"); aliased != 0 {
			t.Error("a call that was planned after the restoration has an alias, which the lost one may have had")
		}
	})
}

// A planner's question is asked after a restoration as before, and takes no answer until the
// operator lets the store continue.
func TestRestoredQuestionOfAPlannerStays(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.cfg.Limits = task.Limits{Turns: 1}
		w.cfg.Planner = &stepper{n: 1, inline: true, step: func(int) *task.Step {
			return &task.Step{Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("which one?"))}}
		}}
		w.start()
		var ids []a2a.TaskID
		for range 3 { // more than have a turn
			ids = append(ids, w.send(w.calls("any", args{})).ID)
		}
		moment := k.restore()
		for _, id := range ids {
			got := w.get(id)
			w.wantState(got, a2a.TaskStateInputRequired)
			if statusText(got) != "which one?" {
				t.Errorf("the task says %q", statusText(got))
			}
		}
		answer := w.reply(ids[0], a2a.NewTextPart("the blue one")) // it may have been sent before
		w.refuses(answer, moment)
		pass(time.Hour)
		w.wantState(w.get(ids[0]), a2a.TaskStateInputRequired)
		w.resume()
		w.sent(answer)
		synctest.Wait()
		w.wantState(w.get(ids[0]), a2a.TaskStateCompleted)
	})
}
