package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// ask sends a transfer of by's, which asks, and returns the id of its task.
func (w *world) ask(by auth.Principal, amount int) a2a.TaskID {
	w.t.Helper()
	sent, err := w.engine.Send(w.ctx(), engine.Send{By: by, Message: w.calls("transfer", args{"amount": amount, "to": "x"})})
	if err != nil {
		w.t.Fatal(err)
	}
	answer := w.engine.Answer(by)
	defer answer.Release()
	if _, err := answer.Await(w.ctx(), sent); err != nil {
		w.t.Fatal(err)
	}
	return a2a.TaskID(sent.Task.String())
}

// inbox returns all that is pending for by, page by page.
func (w *world) inbox(by auth.Principal, limit int) (all []approval.Approval) {
	w.t.Helper()
	cursor := ""
	for {
		page, err := w.engine.Approvals().List(w.ctx(), by, engine.ApprovalQuery{Limit: limit, Cursor: cursor})
		if err != nil || page.Damaged > 0 {
			w.t.Fatalf("List() = %+v, %v", page, err)
		}
		all = append(all, page.Approvals...)
		if cursor = page.Next; cursor == "" {
			return all
		}
		if len(all) > 1000 {
			w.t.Fatal("the list has no end")
		}
	}
}

// Everybody sees what is pending in their own tasks, the oldest first, and decides that and
// nothing else.
func TestApprovals(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		mine := []a2a.TaskID{w.ask(alice, 1), w.ask(alice, 2), w.ask(alice, 3)}
		w.ask(carol, 4)
		stranger := auth.Principal{Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}
		for limit := range 5 {
			all := w.inbox(alice, limit)
			if len(all) != len(mine) {
				t.Fatalf("pages of %d: %d approvals, want %d", limit, len(all), len(mine))
			}
			for i, a := range all {
				if a.Task != string(mine[i]) || a.State != approval.Pending {
					t.Errorf("approval %d is %s of task %s, want one pending of %s", i, a.State, a.Task, mine[i])
				}
			}
		}
		if all := w.inbox(stranger, 0); len(all) != 0 {
			t.Errorf("a stranger of the same name sees %d approvals", len(all))
		}
		approvals := w.engine.Approvals()
		first := w.inbox(alice, 0)[0]
		for name, err := range map[string]error{
			"another's": approvals.Decide(w.ctx(), carol, approval.Answer{ID: first.ID, Verb: approval.Approve}),
			"no id":     approvals.Decide(w.ctx(), alice, approval.Answer{ID: "nothing", Verb: approval.Approve}),
			"no number": approvals.Decide(w.ctx(), alice, approval.Answer{ID: first.Task + ".a99", Verb: approval.Approve}),
		} {
			var said *approval.Error
			if !errors.As(err, &said) || said.Reason != approval.ReasonUnknown {
				t.Errorf("%s: Decide() = %v, want %s", name, err, approval.ReasonUnknown)
			}
		}
		var said *approval.Error
		if _, err := approvals.Get(w.ctx(), carol, first.ID); !errors.As(err, &said) || said.Reason != approval.ReasonUnknown {
			t.Errorf("Get() of another's = %v, want %s", err, approval.ReasonUnknown)
		}
		if err := approvals.Decide(w.ctx(), alice, approval.Answer{ID: first.ID, Verb: approval.Approve, Digest: "sha256:0"}); !errors.As(err, &said) || said.Reason != approval.ReasonChanged {
			t.Errorf("Decide() with another digest = %v, want %s", err, approval.ReasonChanged)
		}
		if err := approvals.Decide(w.ctx(), alice, approval.Answer{ID: first.ID, ByCall: true, Verb: approval.Approve, Digest: first.Digest}); err != nil { // by the id of an approval all the same
			t.Fatal(err)
		}
		w.settled(mine[0], a2a.TaskStateCompleted)
		now, err := approvals.Get(w.ctx(), alice, first.ID)
		if err != nil || now.State != approval.Approved || now.Resolution.Via != approval.ViaAPI || now.Resolution.By.Subject != "alice" {
			t.Errorf("Get() = %+v, %v, want it approved by alice", now, err)
		}
		if left := w.inbox(alice, 0); len(left) != 2 {
			t.Errorf("%d approvals are pending, want 2", len(left))
		}
		page, err := approvals.List(w.ctx(), alice, engine.ApprovalQuery{Task: string(mine[0])})
		if err != nil || len(page.Approvals) != 1 || page.Approvals[0].ID != first.ID {
			t.Errorf("List() of a task = %+v, %v", page, err)
		}
		var invalid *task.InvalidError
		if _, err := approvals.List(w.ctx(), carol, engine.ApprovalQuery{Cursor: "nonsense"}); !errors.As(err, &invalid) {
			t.Errorf("List() with a cursor that is none = %v", err)
		}
	})
}

// What servers before this one have asked stands elsewhere in the index, and is listed
// before all else.
func TestApprovalsOfOlderServers(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		time.Sleep(26 * 366 * 24 * time.Hour) // older servers are not so old
		w.start()
		var ids []string
		for n := range 3 {
			id := w.ask(alice, n)
			a := w.onlyOne(id)
			if n != 1 { // asked by an older server
				raw, err := json.Marshal(a)
				if err != nil {
					t.Fatal(err)
				}
				rev := w.header(id).Rev
				older := &store.Batch{Scope: store.System(), Task: mustID(id), Rev: &rev, Rows: []store.RowChange{{
					Kind: task.RowApproval, Key: []byte(a.ID), IfRev: store.Any, Value: raw,
					Index: []store.IndexKey{{Index: task.IndexPending, Key: fmt.Appendf(nil, "%016x", uint64(store.MillisOf(a.Asked)))}},
				}}}
				if _, err := w.store.Append(w.ctx(), older).Wait(); err != nil {
					t.Fatal(err)
				}
			}
			ids = append(ids, a.ID)
		}
		want := []string{ids[0], ids[2], ids[1]}
		for limit := range 5 {
			var got []string
			for _, a := range w.inbox(alice, limit) {
				got = append(got, a.ID)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("pages of %d: %v, want %v", limit, got, want)
			}
		}
		if all := w.inbox(carol, 0); len(all) != 0 {
			t.Errorf("another sees %d approvals", len(all))
		}
	})
}

// Who watches is told of what is asked and decided, and of nobody else's.
func TestWatchApprovals(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		wake, stop := w.engine.Approvals().Watch(alice)
		defer stop()
		woken := func() bool {
			synctest.Wait()
			select {
			case <-wake:
				return true
			default:
				return false
			}
		}
		id := w.ask(alice, 1)
		if !woken() {
			t.Error("not told of what was asked")
		}
		w.ask(carol, 2)
		w.send(w.calls("echo", args{"text": "a"}))
		if woken() {
			t.Error("told of another's, or of nothing")
		}
		a := w.onlyOne(id)
		if err := w.engine.Approvals().Decide(w.ctx(), alice, approval.Answer{ID: a.ID, Verb: approval.Reject}); err != nil {
			t.Fatal(err)
		}
		if !woken() {
			t.Error("not told of what was decided")
		}
	})
}

// Whoever has a name that the log would change is nobody: four eyes would not know them
// again, and let them approve what they have asked for.
func TestPrincipalThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	jose := auth.Principal{Tenant: "acme", Subject: "Jos\xe9", Roles: []string{auth.RoleRequester}, Method: "test"}
	w := newMemory(t)
	w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{FourEyes: true}})}
	w.start()
	sent, err := w.engine.Send(w.ctx(), engine.Send{By: jose, Message: w.calls("transfer", args{"amount": 1, "to": "x"})})
	if errors.Is(err, task.ErrTaskNotFound) {
		return
	}
	t.Errorf("Send() = %v, want %v", err, task.ErrTaskNotFound)
	answer := w.engine.Answer(jose)
	defer answer.Release()
	if _, err := answer.Await(w.ctx(), sent); err != nil {
		t.Fatal(err)
	}
	for _, a := range w.inbox(jose, 0) {
		if err := w.engine.Approvals().Decide(w.ctx(), jose, approval.Answer{ID: a.ID, Verb: approval.Approve}); err == nil {
			t.Error("who asked has approved it")
		}
	}
}
