package engine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// adds adds entries to the audit, as they are.
func (w *world) adds(entries ...string) {
	w.t.Helper()
	b := &store.Batch{Scope: store.Owner("acme", "alice")}
	for _, e := range entries {
		b.Audit = append(b.Audit, []byte(e))
	}
	if _, err := w.store.Append(w.ctx(), b).Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// sees returns all that a principal sees of the audit: the owner's subject, or "?", and what.
func (w *world) sees(by auth.Principal, limit int) (all []string) {
	w.t.Helper()
	for after := uint64(0); ; {
		entries, next, err := w.engine.Audit(w.ctx(), by, after, limit)
		if err != nil || len(entries) > limit {
			w.t.Fatalf("Audit(%d, %d) = %d entries, %v", after, limit, len(entries), err)
		}
		if next == after {
			return all
		}
		for i := range entries {
			if n := entries[i].N; n <= after || n > next {
				w.t.Errorf("Audit(%d) has entry %d and continues after %d", after, n, next)
			}
			owner := entries[i].Owner
			if owner == "" {
				owner = "?"
			}
			all = append(all, owner+" "+string(entries[i].What))
		}
		after = next
	}
}

// An entry is shown to those who may read its task, or review its approval, also when the task is
// gone; what does not say whose it is, only to admins.
func TestAuditIsSeen(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.start()
	w.adds(`{"v":1,"at":"2026-03-01T12:00:00Z","what":"asked","task":"t","approval":"t.a1","gate":"big","by":{"tenant":"acme","subject":"alice"}}`)
	mine := w.ask(alice, 1)
	w.cancel(mine)
	w.ask(auth.Anonymous(), 2)
	w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(mine)))
	w.adds("{", `{"v":3,"what":"later","task":"t","tenant":"acme","owner":"alice"}`) // no entries

	ofAlice := []string{"alice asked", "alice canceled", "alice resolved", "alice finished", "alice deleting"}
	ofApprovals := []string{"alice asked", "alice resolved", "alice finished"}
	ofAdmin := []string{"? asked", "anonymous asked"}
	elsewhere := func(roles ...string) auth.Principal {
		return auth.Principal{Tenant: "other", Subject: "alice", Roles: roles, Method: "test"}
	}
	for _, tc := range []struct {
		name string
		by   auth.Principal
		want []string
	}{
		{"owner", alice, ofAlice},
		{"other owner", colleague(auth.RoleRequester), nil},
		{"viewer", colleague(auth.RoleViewer), ofAlice},
		{"operator", colleague(auth.RoleOperator), ofAlice},
		{"approver", colleague(auth.RoleApprover), ofApprovals},
		{"admin", colleague(auth.RoleAdmin), ofAdmin},
		{"admin without a tenant", auth.Principal{Subject: "root", Roles: []string{auth.RoleAdmin}}, ofAdmin},
		{"all roles", colleague(auth.Roles()...), []string{"? asked", "alice asked", "alice canceled", "alice resolved", "alice finished", "anonymous asked", "alice deleting"}},
		{"same name in another tenant", elsewhere(auth.RoleRequester), nil},
		{"viewer and approver of another tenant", elsewhere(auth.RoleViewer, auth.RoleApprover), nil},
		{"same name without a tenant", auth.Principal{Subject: "alice", Roles: []string{auth.RoleRequester, auth.RoleViewer}}, nil},
		{"anonymous", auth.Anonymous(), []string{"anonymous asked"}},
		{"called anonymous", auth.Principal{Subject: "anonymous", Roles: auth.Roles(), Method: "key"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, limit := range []int{1, 3, 1000} {
				if got := w.sees(tc.by, limit); !slices.Equal(got, tc.want) {
					t.Errorf("Audit() with limit %d = %q, want %q", limit, got, tc.want)
				}
			}
		})
	}
	for name, by := range map[string]auth.Principal{"nobody": {}, "no role": colleague(), "another role": colleague("ops")} {
		_, next, err := w.engine.Audit(w.ctx(), by, 1, 10)
		if wantDenied(t, err); next != 1 {
			t.Errorf("%s: next = %d, want 1", name, next)
		}
	}
	entries, _, err := w.engine.Audit(w.ctx(), colleague(auth.RoleAdmin), 0, 1)
	if err != nil || len(entries) != 1 || entries[0].Gate != "big" {
		t.Errorf("Audit() = %+v, %v, want the gate of the first entry", entries, err)
	}
}

// A reader passes a long stretch of what others may see, a bounded number of entries at a time.
func TestAuditGoesOn(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.start()
	w.adds(slices.Repeat([]string{`{"v":1,"what":"started","task":"t"}`}, 35)...)
	w.ask(alice, 1)
	for _, want := range []struct {
		after, next uint64
		entries     int
	}{{0, 20, 0}, {20, 36, 1}, {36, 36, 0}, {1000, 1000, 0}} {
		entries, next, err := w.engine.Audit(w.ctx(), alice, want.after, 2)
		if err != nil || next != want.next || len(entries) != want.entries {
			t.Errorf("Audit(%d) = %d entries, %d, %v, want %d, %d", want.after, len(entries), next, err, want.entries, want.next)
		}
	}
}

// Readers of the audit are woken by what a turn writes, by decisions and by deletions.
func TestAuditWakes(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		wake, stop := w.engine.WatchAudit()
		second, stopSecond := w.engine.WatchAudit()
		defer stopSecond()
		woken := func(what string) {
			t.Helper()
			synctest.Wait()
			for name, c := range map[string]<-chan struct{}{"first": wake, "second": second} {
				select {
				case <-c:
				default:
					t.Errorf("the %s watcher is not woken by %s", name, what)
				}
			}
		}
		w.begin(w.calls("search", args{"amount": 1, "to": "x"})) // nobody is asked
		woken("a call that nobody was asked about")
		id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
		woken("a question")
		w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Reject}))
		woken("a decision")
		w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(id)))
		woken("a deletion")
		stop()
		stop()
		w.begun(alice, w.calls("transfer", args{"amount": 1, "to": "x"}))
		select {
		case <-wake:
			t.Error("a watcher is woken after its end")
		default:
		}
	})
}

// auditKey returns the key of a task's audit.
func (w *world) auditKey(id a2a.TaskID) []byte {
	w.t.Helper()
	for _, e := range w.events(id) {
		if e.Kind == "audit.key.v1" {
			var stored struct{ Key []byte }
			w.must(json.Unmarshal(e.Data, &stored))
			return stored.Key
		}
	}
	w.t.Fatalf("task %s has no key", id)
	return nil
}

// The digest of one approval differs from task to task, and once a task is deleted nothing in the
// store tells what its digests are of.
func TestAuditIsKeyed(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		one, two := w.ask(alice, 1), w.ask(alice, 1)
		first, second := w.auditKey(one), w.auditKey(two)
		if len(first) != 16 || slices.Equal(first, second) {
			t.Fatalf("the keys are %x and %x, want two of 16 bytes", first, second)
		}
		page, err := w.engine.Approvals().List(w.ctx(), alice, engine.ApprovalQuery{Task: string(one)})
		if err != nil || len(page.Approvals) != 1 {
			t.Fatal(page, err)
		}
		plain := page.Approvals[0].Digest
		asked := find(w.audits(one), approval.AuditAsked)
		if want := approval.KeyedDigest(first, plain); asked.Digest != want || approval.KeyedDigest(second, plain) == want {
			t.Errorf("digest = %s, want %s", asked.Digest, want)
		}
		w.cancel(one)
		if resolved := find(w.audits(one), approval.AuditResolved); resolved.Digest != asked.Digest {
			t.Errorf("digest = %s, want %s as asked", resolved.Digest, asked.Digest)
		}
		w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(one)))
		if _, err := w.store.Read(w.ctx(), store.System(), mustID(one), store.After(0), store.Limit{Events: 1000}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Read() of the task = %v, want that it is gone with its key", err)
		}
		if asked := find(w.audits(one), approval.AuditAsked); asked == nil || asked.Owner != "alice" || asked.Tenant != "acme" {
			t.Errorf("audit = %+v, want that it says whose task it was", asked)
		}
	})
}

// The audit names the approval under which a call has run, also when it was repeated
// after its process had died.
func TestAuditOfARepeatedCall(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.startTools(&fake{name: "pay", gated: true, is: tool.Annotations{Idempotent: true}, call: w.counted().holdsOnce})
		id := w.begun(alice, w.calls("pay", args{}))
		call := w.onlyOne(id)
		w.approves(id)
		synctest.Wait()
		k.die()
		w.restart()
		w.ended(id)
		for _, a := range w.audits(id) {
			if a.What == approval.AuditFinished && a.Approval != call.ID {
				t.Errorf("audit of the end = %+v, want approval %s", a, call.ID)
			}
		}
	})
}

// The audit has the digest of the arguments that an edit has approved.
func TestAuditOfAnEdit(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		id := w.begun(alice, w.calls("transfer", args{"amount": 1, "to": "x"}))
		a := w.onlyOne(id)
		w.must(w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Edit, Args: []byte(`{"amount":2,"to":"x"}`)}))
		synctest.Wait()
		all := w.audits(id)
		if r, asked := find(all, approval.AuditResolved), find(all, approval.AuditAsked); r == nil || r.Digest == asked.Digest {
			t.Errorf("audit of the edit has the digest of what was asked, %s, not of what runs", asked.Digest)
		}
	})
}
