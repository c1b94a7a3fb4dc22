package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
)

// offered returns the members of the first approval of a question in our extension.
func (w *world) offered(got *a2a.Task) (offer struct {
	Options []string
	Grants  *struct {
		Scopes  []string
		Seconds int
		Uses    int
		Vary    []string
	}
}) {
	w.t.Helper()
	var question struct{ Approvals []json.RawMessage }
	raw, err := json.Marshal(got.Status.Message.Metadata[dialect.URI])
	w.must(err)
	w.must(json.Unmarshal(raw, &question))
	w.must(json.Unmarshal(question.Approvals[0], &offer))
	return offer
}

// A decision in the extension makes a grant on the terms of the approvals API, and the question offers them.
func TestGrantByTheClient(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.mailing(mails(approval.GrantTerms{Scopes: []approval.GrantScope{approval.GrantTask, approval.GrantContext}, Max: time.Hour, Uses: 3, Vary: []string{"/subject"}}))
		got := w.mail(alice, "talk", args{"to": "bob", "subject": "one"})
		offer := w.offered(got)
		if g := offer.Grants; g == nil || strings.Join(g.Scopes, " ") != "task context" || g.Seconds != 3600 || g.Uses != 3 || strings.Join(g.Vary, " ") != "/subject" || strings.Join(offer.Options, " ") != "approve edit reject cancel" {
			t.Errorf("the question offers %+v", offer)
		}
		decide := func(by auth.Principal, decision string, grant any) error {
			_, err := w.sendAs(by, w.decision(got.ID, map[string]any{"id": w.pending(got)[0], "decision": decision, "grant": grant}))
			return err
		}
		for _, tc := range []struct {
			decision string
			grant    any
			want     string
		}{
			{"approve", map[string]any{"scope": "time"}, "grant.scope"},
			{"approve", map[string]any{"scope": "context", "seconds": 7200.0}, "grant.seconds"},
			{"approve", map[string]any{"scope": "context", "seconds": 1e18}, "grant.seconds"},
			{"approve", map[string]any{"scope": "context", "uses": 4.0}, "grant.uses"},
			{"approve", map[string]any{"scope": "context", "uses": 1.5}, "grant.uses"},
			{"approve", map[string]any{"scope": "context", "for": "1h"}, "grant.for"},
			{"approve", map[string]any{"exact": true}, "grant.scope"},
			{"approve", "context", "grant"},
			{"reject", map[string]any{"scope": "context"}, "grant"},
		} {
			if err := decide(alice, tc.decision, tc.grant); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s with the grant %v = %v, want an error of %s", tc.decision, tc.grant, err, tc.want)
			}
		}
		agent := alice
		agent.Chain = []string{"agent"}
		if err := decide(agent, "approve", map[string]any{"scope": "context"}); err == nil {
			t.Error("an agent has made a grant")
		}
		text := `{"type": "approval_response", "decisions": [{"id": "` + w.pending(got)[0] + `", "decision": "approve", "digest": "` + w.pendingOf(alice, got).Digest + `", "grant": {"scope": "context"}}]}`
		if _, err := w.sendAs(alice, w.reply(got.ID, a2a.NewTextPart(text))); err == nil || !strings.Contains(err.Error(), "no text makes a grant") {
			t.Errorf("a grant by text = %v, want an error", err)
		}
		w.wantRuns("send_mail", 0)
		w.must(decide(alice, "approve", map[string]any{"scope": "context", "seconds": 600.0, "uses": 1.0}))
		w.wantState(w.settled(got.ID, a2a.TaskStateCompleted), a2a.TaskStateCompleted)
		if g := w.grants(alice); len(g) != 1 || g[0].By.Subject != "alice" || g[0].Scope != approval.GrantContext || g[0].Uses != 1 || g[0].Until.Sub(g[0].Made) != 10*time.Minute {
			t.Fatalf("the grants are %+v", g)
		}
		w.wantState(w.mail(alice, "talk", args{"to": "bob", "subject": "two"}), a2a.TaskStateCompleted)
		w.wantAsked(w.mail(alice, "talk", args{"to": "bob", "subject": "three"}), true)
	})
}

// The options of a question are what its client may do.
func TestOptionsOfTheClient(t *testing.T) {
	service := auth.Principal{Tenant: alice.Tenant, Subject: "robot", Kind: auth.KindService, Method: "test", Roles: alice.Roles}
	for name, tc := range map[string]struct {
		by    auth.Principal
		terms approval.Terms
		want  string
	}{
		"all":       {alice, approval.Terms{}, "approve edit reject cancel"},
		"four eyes": {alice, approval.Terms{FourEyes: true}, ""},
		"elsewhere": {alice, approval.Terms{Elsewhere: true}, ""},
		"approvers": {alice, approval.Terms{Approvers: &approval.Approvers{Roles: []string{"finance"}}}, ""},
		"a service": {service, approval.Terms{Grants: &approval.GrantTerms{Scopes: approval.GrantScopes()}}, ""},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.mailing(approval.Gate{Tool: "send_mail", Terms: tc.terms})
			offer := w.offered(w.mail(tc.by, "", args{"to": "bob"}))
			if got := strings.Join(offer.Options, " "); got != tc.want || offer.Options == nil || offer.Grants != nil {
				t.Errorf("the question offers %q and %v, want %q", got, offer.Grants, tc.want)
			}
		})
	}
}
