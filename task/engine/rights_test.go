package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// member returns somebody of acme.
func member(subject string, roles ...string) auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: subject, Roles: roles, Method: "test"}
}

// Who decides what alice asked for, through the approvals of the engine.
func TestWhoDecides(t *testing.T) {
	t.Parallel()
	fourEyes, sre := approval.Terms{FourEyes: true}, approval.Terms{Approvers: &approval.Approvers{Roles: []string{"sre"}, Subjects: []string{"keys:dora"}}}
	asks := func(p auth.Principal) auth.Principal { p.Person = "alice@example.com"; return p }
	service := member("robot", auth.RoleApprover)
	service.Kind = auth.KindService
	serviceOwner := alice
	serviceOwner.Kind = auth.KindService
	agent := member("bob", auth.RoleApprover)
	agent.Chain = []string{"assistant"}
	agentOfAlice := member("bob", auth.RoleApprover)
	agentOfAlice.Chain = []string{"assistant", "alice"}
	elsewhere := auth.Principal{Tenant: "other", Subject: "bob", Roles: auth.Roles(), Method: "test"}
	nowhere := auth.Principal{Subject: "bob", Roles: []string{auth.RoleApprover}, Method: "test"}
	for _, tc := range []struct {
		name      string
		asked, by auth.Principal
		terms     approval.Terms
		delegated bool
		want      string // "", "denied", the reason of an *approval.Error, or that and why
	}{
		{name: "the owner", by: alice},
		{name: "the owner, by a service key", by: serviceOwner, want: "APPROVAL_NOT_ALLOWED delegated"},
		{name: "the owner, by a service key that may", by: serviceOwner, delegated: true},
		{name: "an approver", by: member("bob", auth.RoleApprover)},
		{name: "another requester", by: carol, want: "APPROVAL_UNKNOWN"},
		{name: "a viewer", by: member("bob", auth.RoleViewer), want: "denied"},
		{name: "an operator", by: member("bob", auth.RoleOperator), want: "denied"},
		{name: "an admin", by: member("bob", auth.RoleAdmin), want: "denied"},
		{name: "a role of the rule alone", by: member("bob", "sre"), terms: sre, want: "denied"},
		{name: "an approver of another tenant", by: elsewhere, want: "APPROVAL_UNKNOWN"},
		{name: "an approver without a tenant", by: nowhere, want: "APPROVAL_UNKNOWN"},
		{name: "an approver of no tenant, and a requester of none", asked: auth.Principal{Subject: "x", Roles: []string{auth.RoleRequester}, Method: "test"}, by: nowhere, want: "APPROVAL_UNKNOWN"},
		{name: "an approver, of anonymous", asked: auth.Anonymous(), by: nowhere, want: "APPROVAL_UNKNOWN"},
		{name: "a service", by: service, want: "APPROVAL_NOT_ALLOWED delegated"},
		{name: "a service that may", by: service, delegated: true},
		{name: "an agent of an approver", by: agent, want: "APPROVAL_NOT_ALLOWED delegated"},
		{name: "an agent of an approver that may", by: agent, delegated: true},

		{name: "four eyes, the owner", by: alice, terms: fourEyes, want: "APPROVAL_NOT_ALLOWED four eyes"},
		{name: "four eyes, the owner who is an approver", by: member("alice", auth.RoleApprover), terms: fourEyes, want: "APPROVAL_NOT_ALLOWED four eyes"},
		{name: "four eyes, another", by: member("bob", auth.RoleApprover), terms: fourEyes},
		{name: "four eyes, the owner's other name", asked: asks(alice), by: asks(member("keys:7", auth.RoleApprover)), terms: fourEyes, want: "APPROVAL_NOT_ALLOWED four eyes"},
		{name: "four eyes, an agent that acts for the owner", by: agentOfAlice, terms: fourEyes, delegated: true, want: "APPROVAL_NOT_ALLOWED four eyes"},
		{name: "four eyes, an agent of somebody else", by: agent, terms: fourEyes, delegated: true},
		{name: "four eyes, the agent that asked", asked: auth.Principal{Tenant: "acme", Subject: "alice", Roles: alice.Roles, Chain: []string{"bob"}, Method: "test"}, by: member("bob", auth.RoleApprover), terms: fourEyes, want: "APPROVAL_NOT_ALLOWED four eyes"},
		{name: "four eyes, the owner by a service key", by: serviceOwner, terms: fourEyes, delegated: true, want: "APPROVAL_NOT_ALLOWED four eyes"},

		{name: "approvers, by role", by: member("bob", auth.RoleApprover, "sre"), terms: sre},
		{name: "approvers, by subject", by: member("keys:dora", auth.RoleApprover), terms: sre},
		{name: "approvers, another approver", by: member("bob", auth.RoleApprover), terms: sre, want: "APPROVAL_NOT_ALLOWED approvers"},
		{name: "approvers, the owner", by: alice, terms: sre, want: "APPROVAL_NOT_ALLOWED approvers"},
		{name: "approvers, of another tenant", by: auth.Principal{Tenant: "other", Subject: "keys:dora", Roles: append(auth.Roles(), "sre"), Method: "test"}, terms: sre, want: "APPROVAL_UNKNOWN"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.asked.IsZero() {
				tc.asked = alice
			}
			var log safeBuffer
			w := newMemory(t)
			w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: tc.terms}), DelegatedDecisions: tc.delegated}
			w.start()
			w.restart(func(cfg *engine.Config) { cfg.Log = zerolog.New(&log) })
			id := w.ask(tc.asked, 1)
			question := w.onlyOne(id).ID
			audits := len(w.audits(id))
			err := w.engine.Approvals().Decide(w.ctx(), tc.by, approval.Decision{ID: question, Type: approval.Approve})
			got, why := "", ""
			if refused, ok := errors.AsType[*approval.Error](err); ok {
				why = refused.Barred
				got = strings.TrimSpace(string(refused.Reason) + " " + why)
			} else if _, denied := errors.AsType[*auth.DeniedError](err); denied {
				got = "denied"
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Fatalf("Decide() = %v, %q; want %q", err, got, tc.want)
			}
			if tc.want == "" {
				w.rest(id)
				w.wantRuns("transfer", 1)
				got := w.asked(id)[0].Resolution
				if got == nil || got.By.Subject != tc.by.Subject || got.By.Person != tc.by.Person || got.By.Kind != tc.by.Kind || !slices.Equal(got.By.Chain, tc.by.Chain) {
					t.Errorf("resolution = %+v, want one by %+v", got, tc.by)
				}
				audited := find(w.audits(id), approval.AuditResolved)
				if audited == nil || audited.By.Subject != tc.by.Subject || audited.By.Kind != tc.by.Kind || audited.By.Person != tc.by.Person || audited.Via != approval.ViaAPI {
					t.Errorf("audit = %+v", audited)
				}
				return
			}
			if w.tools.count("transfer") != 0 || len(w.waiting(id)) != 1 || len(w.audits(id)) != audits {
				t.Errorf("what was refused has had an effect: %v", w.asked(id))
			}
			line := log.line(t, "decision refused")
			switch {
			case why == "" && line != nil:
				t.Errorf("logged %v", line)
			case why != "" && (line["why"] != approval.BarredText(why) || line["by"] != tc.by.Subject || line["approval_id"] != question || line["task_id"] != string(id) || line["via"] != "api" || line["method"] != "test"):
				t.Errorf("logged %v, want that %s was refused because of %s", line, tc.by.Subject, why)
			}
		})
	}
}

// safeBuffer is a log that may be written to at any time.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// line returns the first line with a message; nil: there is none.
func (b *safeBuffer) line(t *testing.T, message string) map[string]any {
	t.Helper()
	for text := range strings.Lines(b.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line["message"] == message {
			return line
		}
	}
	return nil
}

// A decision counts for who the caller is when it is committed, not only when it was read:
// of a task that rests, and of one at work.
func TestRightsAtCommit(t *testing.T) {
	t.Parallel()
	asked := approval.Terms{Approvers: &approval.Approvers{Roles: []string{"sre"}}}
	approver := member("bob", auth.RoleApprover, "sre")
	revoked := errors.New("the key was revoked")
	as := func(p auth.Principal) engine.Renewal {
		return func(context.Context) (auth.Principal, error) { return p, nil }
	}
	otherwise := approver
	otherwise.Roles = []string{"sre", "new", auth.RoleApprover}
	chained := approver
	chained.Chain = []string{"assistant"}
	flaps := 0
	for _, tc := range []struct {
		name  string
		renew engine.Renewal
		want  func(error) bool
	}{
		{"as before", as(approver), func(err error) bool { return err == nil }},
		{"with another role more", as(otherwise), func(err error) bool { return err == nil }},
		{"the credential is revoked", func(context.Context) (auth.Principal, error) { return auth.Principal{}, revoked }, func(err error) bool { return errors.Is(err, revoked) }},
		{"nobody any longer", as(auth.Principal{}), barredBy(approval.BarredUnknown)},
		{"the right to decide is withdrawn", as(member("bob", "sre")), barredBy(approval.BarredRole)},
		{"the role of the rule is withdrawn", as(member("bob", auth.RoleApprover)), barredBy(approval.BarredApprovers)},
		{"moved to another tenant", as(auth.Principal{Tenant: "other", Subject: "bob", Roles: approver.Roles, Method: "test"}), barredBy(approval.BarredRole)},
		{"somebody acts for them now", as(chained), barredBy(approval.BarredDelegated)},
		{"the roles in any order", func(context.Context) (auth.Principal, error) {
			p := approver
			p.Roles = []string{"sre", auth.RoleApprover}
			if flaps++; flaps%2 == 0 {
				slices.Reverse(p.Roles)
			}
			return p, nil
		}, func(err error) bool { return err == nil }},
		{"never the same twice", func(context.Context) (auth.Principal, error) {
			flaps++
			return member("bob", auth.RoleApprover, "sre", fmt.Sprint("role", flaps)), nil
		}, func(err error) bool { return errors.Is(err, engine.ErrBusy) }},
	} {
		for _, atWork := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, at work %t", tc.name, atWork), func(t *testing.T) {
				w := newMemory(t)
				w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: asked})}
				var accepted []auth.Principal
				w.cfg.Accepted = func(_ context.Context, p auth.Principal) { accepted = append(accepted, p) }
				w.start()
				pairs := []any{"transfer", args{"amount": 1, "to": "x"}}
				if atWork {
					pairs = append(pairs, "block", args{})
				}
				id := w.begin(w.calls(pairs...))
				if !atWork {
					w.rest(id)
				}
				w.until("a question", func() bool { return len(w.waiting(id)) == 1 })
				question := w.onlyOne(id).ID
				err := w.engine.Approvals().Renewing(tc.renew).Decide(w.ctx(), approver, approval.Decision{ID: question, Type: approval.Approve})
				if !tc.want(err) {
					t.Fatalf("Decide() = %v", err)
				}
				got := w.asked(id)[0]
				if err != nil && (got.State != approval.Pending || len(accepted) > 0) {
					t.Errorf("the approval is %s, want pending; accepted: %v", got.State, accepted)
				}
				if err == nil && (len(accepted) != 1 || !slices.Equal(accepted[0].Roles, got.Resolution.By.Roles)) {
					t.Errorf("accepted: %v, want the roles of the commit", accepted)
				}
				w.tools.release()
				w.rest(id)
				if n := w.tools.count("transfer"); n != 0 && err != nil || n != 1 && err == nil {
					t.Errorf("the tool ran %d times after %v", n, err)
				}
				if err != nil { // somebody else still may, at once
					w.must(w.engine.Approvals().Decide(w.ctx(), approver, approval.Decision{ID: question, Type: approval.Approve}))
					w.ended(id)
				} else if now, _ := tc.renew(t.Context()); !slices.Equal(slices.Sorted(slices.Values(got.Resolution.By.Roles)), slices.Sorted(slices.Values(now.Roles))) {
					t.Errorf("decided by %+v, want the roles of the commit", got.Resolution.By)
				}
			})
		}
	}
}

func barredBy(why string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*approval.Error](err)
		return ok && e.Barred == why
	}
}

// An extension and a revocation, too, count for who the caller is when they are committed.
func TestRightsAtCommitOfOtherChanges(t *testing.T) {
	revoked := errors.New("the key was revoked")
	for _, tc := range []struct {
		name          string
		now           auth.Principal // of alice's key at the commit
		renew         error
		extend, grant error // nil: as barredBy says, or none
		bars          string
	}{
		{name: "as before", now: alice},
		{name: "the credential is revoked", renew: revoked, extend: revoked, grant: revoked},
		{name: "the right to decide is withdrawn", now: member("alice", auth.RoleViewer), bars: approval.BarredRole, grant: engine.ErrNoGrant},
	} {
		for _, atWork := range []bool{false, true} {
			runInMemory(t, fmt.Sprintf("%s, at work %t", tc.name, atWork), func(t *testing.T, w *world) {
				g := mails(approval.GrantTerms{})
				g.Terms.Expires = time.Hour
				w.mailing(g)
				renewed := 0
				list := w.engine.Approvals().Renewing(func(context.Context) (auth.Principal, error) {
					renewed++
					return tc.now, tc.renew
				})
				made := w.grantOf(alice, w.mail(alice, "c", args{"amount": 1}), approval.GrantRequest{Scope: approval.GrantTime})
				pairs := []any{"send_mail", args{"amount": 2}}
				if atWork {
					pairs = append(pairs, "block", args{})
				}
				id := w.begin(w.calls(pairs...))
				w.until("a question", func() bool { return len(w.waiting(id)) == 1 })
				one := w.onlyOne(id)
				until := one.Deadline.Add(time.Hour)
				err := list.Extend(w.ctx(), alice, one.ID, one.Digest, until)
				if ok := tc.bars == "" && errors.Is(err, tc.extend) || tc.bars != "" && barredBy(tc.bars)(err); !ok || renewed != 1 {
					t.Errorf("Extend() = %v, authenticated %d times", err, renewed)
				}
				if moved := w.asked(id)[0].Deadline.Equal(until); moved != (err == nil) {
					t.Errorf("the deadline has moved: %t, after %v", moved, err)
				}
				renewed = 0
				if err = list.Revoke(w.ctx(), alice, made.ID, ""); !errors.Is(err, tc.grant) || renewed != 1 {
					t.Errorf("Revoke() = %v, authenticated %d times", err, renewed)
				}
				if left := len(w.grants(alice)); (left == 0) != (err == nil) {
					t.Errorf("%d grants are left after %v", left, err)
				}
			})
		}
	}
}

// Every message to a task is authenticated again, whether it decides or not, and counts for nobody
// who may not send it at the commit.
func TestRightsOfAMessage(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.start()
	id := w.ask(alice, 1)
	question := w.onlyOne(id).ID
	renewed := 0
	now := alice
	var fails error
	send := func(m *a2a.Message) error {
		renewed = 0
		_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m, Renew: func(context.Context) (auth.Principal, error) {
			renewed++
			return now, fails
		}})
		return err
	}
	remark := func() *a2a.Message { return w.reply(id, a2a.NewTextPart("what is it?")) }
	cancel := func() *a2a.Message {
		return w.reply(id, a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": w.onlyOne(id).Call}))
	}
	if err := send(remark()); err != nil || renewed != 1 {
		t.Errorf("Send() of a remark = %v, authenticated %d times", err, renewed)
	}
	said := len(w.get(id).History)
	fails = errors.New("the key was revoked")
	for _, m := range []*a2a.Message{remark(), cancel(), w.decision(id, approve(question))} {
		if err := send(m); !errors.Is(err, fails) || renewed != 1 {
			t.Errorf("Send() after a revocation = %v, authenticated %d times", err, renewed)
		}
	}
	fails = nil
	for _, other := range []auth.Principal{member("alice", auth.RoleViewer), carol, {Tenant: "other", Subject: "alice", Roles: alice.Roles, Method: "test"}, {}} {
		now = other
		for _, m := range []*a2a.Message{remark(), cancel()} {
			if err := send(m); !errors.Is(err, task.ErrTaskNotFound) {
				t.Errorf("Send() as %+v = %v", now, err)
			}
		}
	}
	now = member("alice", auth.RoleViewer)
	if err := send(w.decision(id, approve(question))); !barredBy(approval.BarredRole)(err) || renewed == 0 {
		t.Errorf("Send() without the role = %v, authenticated %d times", err, renewed)
	}
	if len(w.waiting(id)) != 1 || w.tools.count("transfer") != 0 || len(w.get(id).History) != said {
		t.Error("a message of somebody who may not send it counts")
	}
	now = alice
	if err := send(w.decision(id, approve(question))); err != nil || renewed != 1 {
		t.Errorf("Send() = %v, authenticated %d times", err, renewed)
	}
	w.settled(id, a2a.TaskStateCompleted)
}

// Two approvers contradict each other at the same moment: both have read the same, both are
// about to commit. One counts, and the other is told who was first, and what they decided.
func TestApproversAtTheSameMoment(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		w.start()
		ran := 0
		for range 8 {
			id := w.ask(alice, 1)
			question := w.onlyOne(id).ID
			var both sync.WaitGroup
			both.Add(2)
			decide := func(by auth.Principal, verb approval.DecisionType) error {
				var once sync.Once
				renew := func(context.Context) (auth.Principal, error) {
					once.Do(func() { both.Done(); both.Wait() })
					return by, nil
				}
				return w.engine.Approvals().Renewing(renew).Decide(w.ctx(), by, approval.Decision{ID: question, Type: verb})
			}
			bob, dora := member("bob", auth.RoleApprover), member("dora", auth.RoleApprover)
			result := make(chan error, 1)
			go func() { result <- decide(bob, approval.Approve) }()
			rejected := decide(dora, approval.Reject)
			approved := <-result
			if (approved == nil) == (rejected == nil) {
				t.Fatalf("approve = %v, reject = %v; want that one counts", approved, rejected)
			}
			first, late := bob, rejected
			if approved != nil {
				first, late = dora, approved
			}
			e, ok := errors.AsType[*approval.Error](late)
			if !ok || e.Reason != approval.ReasonConflict && e.Reason != approval.ReasonDecided || e.Metadata["by"] != first.Subject {
				if state, is := errors.AsType[*task.StateError](late); !is || state.Decided == nil || state.Decided.Metadata["by"] != first.Subject {
					t.Errorf("the other was told %v, want a conflict with %s", late, first.Subject)
				}
			}
			w.rest(id)
			if approved == nil {
				ran++
			}
			if n := w.tools.count("transfer"); n != ran {
				t.Errorf("the tool ran %d times, want %d", n, ran)
			}
		}
	})
}

// Somebody else's approval is a missing one, in the error and in what the store is asked.
func TestForeignApproval(t *testing.T) {
	t.Parallel()
	counter := countRequests()
	w := newMemory(t)
	w.wrap = func(h store.Handle) store.Handle { counter.Handle = h; return counter }
	w.start()
	missing := "019b7c00-0000-7000-8000-0000ffffffff"
	tasks := map[string]string{
		"pending": string(w.ask(alice, 1)), "other tenant": string(w.ask(auth.Principal{Tenant: "other", Subject: "bob", Roles: alice.Roles, Method: "test"}, 2)),
		"anonymous": string(w.ask(auth.Anonymous(), 3)),
	}
	ended := w.ask(alice, 4)
	w.must(w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: w.onlyOne(ended).ID, Type: approval.Reject}))
	w.ended(ended)
	tasks["decided"] = string(ended)
	all := w.engine.Approvals()
	for name, by := range map[string]auth.Principal{
		"requester": carol, "approver of a third tenant": {Tenant: "third", Subject: "alice", Roles: auth.Roles(), Method: "test"}, "without a tenant": {Subject: "bob", Roles: auth.Roles(), Method: "test"},
	} {
		for op, do := range map[string]func(id string) (any, error){
			"Get": func(id string) (any, error) { return all.Get(w.ctx(), by, id+".a1") },
			"List": func(id string) (any, error) {
				return all.List(w.ctx(), by, engine.ApprovalQuery{Task: id})
			},
			"Decide": func(id string) (any, error) {
				return nil, all.Decide(w.ctx(), by, approval.Decision{ID: id + ".a1", Type: approval.Approve})
			},
			"Decide otherwise": func(id string) (any, error) {
				return nil, all.Decide(w.ctx(), by, approval.Decision{ID: id + ".a1", Type: approval.Edit, Args: json.RawMessage(`{}`), Digest: "x"})
			},
			"a message": func(id string) (any, error) {
				_, err := w.sendAs(by, w.decision(a2a.TaskID(id), approve(id+".a1")))
				return nil, err
			},
		} {
			answer := func(id string) string {
				before := counter.Calls.Load()
				out, err := do(id)
				text := fmt.Sprintf("%+v, %v", out, err)
				return fmt.Sprintf("%s (%d calls)", strings.ReplaceAll(text, id, "ID"), counter.Calls.Load()-before)
			}
			want := answer(missing)
			for which, id := range tasks {
				if got := answer(id); got != want {
					t.Errorf("%s: %s of one that is %s:\n%s\nof a missing one:\n%s", name, op, which, got, want)
				}
			}
		}
	}
	w.wantRuns("transfer", 0)
}

// A remark with a credential that was revoked before the commit is not logged as a refused decision.
func TestLogOfARefusedRemark(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	var log safeBuffer
	w.start()
	w.restart(func(cfg *engine.Config) { cfg.Log = zerolog.New(&log) })
	id := w.ask(alice, 1)
	revoked := errors.New("the key was revoked")
	_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.reply(id, a2a.NewTextPart("what is it?")), Renew: func(context.Context) (auth.Principal, error) {
		return auth.Principal{}, revoked
	}})
	if !errors.Is(err, revoked) {
		t.Fatalf("Send() = %v", err)
	}
	if line := log.line(t, "decision refused"); line != nil {
		t.Errorf("a remark is logged as a decision: %v", line)
	}
}

// A message with a decision counts for its sender as authenticated at the commit: not for an approver
// who does not own the task.
func TestDecisionByMessageOfAnotherOwner(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.start()
	id := w.ask(alice, 1)
	question := w.onlyOne(id).ID
	if _, err := w.engine.Send(w.ctx(), engine.Send{By: bob, Message: w.decision(id, approve(question))}); err == nil {
		t.Fatal("bob sends into alice's task")
	}
	_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(id, approve(question)), Renew: func(context.Context) (auth.Principal, error) {
		return bob, nil
	}})
	if err == nil {
		t.Errorf("bob, authenticated at the commit, decides by a message in alice's task, as %s", w.asked(id)[0].Resolution.By.Subject)
	}
}

// A message with a decision and a webhook, of an owner whose role requester is withdrawn before the
// commit, sets none.
func TestWebhookOfAWithdrawnRole(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	of := w.parkedTask()
	id := w.get(a2a.TaskID(of.String())).ID
	question := w.onlyOne(id).ID
	c, now := webhook("late"), member("alice", auth.RoleApprover)
	if _, err := w.engine.SetPush(w.ctx(), now, of, webhook("direct")); err == nil {
		t.Fatal("an approver sets a webhook")
	}
	_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(id, approve(question)), Push: &c, Renew: func(context.Context) (auth.Principal, error) {
		return now, nil
	}})
	list, listErr := w.engine.PushList(w.ctx(), alice, of, 0, "")
	if listErr != nil {
		t.Fatal(listErr)
	}
	if len(list.Configs) > 0 {
		t.Errorf("Send() = %v, and the task has the webhook %s of %v, who may set none", err, list.Configs[0].ID, now.Roles)
	}
}
