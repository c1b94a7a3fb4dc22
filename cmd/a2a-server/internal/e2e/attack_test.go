package e2e_test

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"a2a-server/auth"
)

// attack is somebody who has no right to what they ask for.
type attack struct {
	name   string
	header http.Header
	want   int            // 401, 503, or 0: what by may do
	by     auth.Principal // whom the credential proves
}

func attacksOn(w *attacked) []attack {
	claims := func(changes ...map[string]any) map[string]any {
		return w.issuer.claims("acme", "mallory", auth.RoleRequester, changes...)
	}
	bad := func(name string, header http.Header) attack {
		return attack{name, header, http.StatusUnauthorized, auth.Principal{}}
	}
	by := func(name, tenant, role string, header http.Header) attack {
		return attack{name, header, 0, auth.Principal{Tenant: tenant, Subject: "mallory", Roles: []string{role}}}
	}
	victim := w.issuer.claims("acme", "victim", auth.RoleRequester)
	valid := token("k1", claims())
	ago := time.Now().Add(-time.Minute).Unix()
	both := bearing(valid)
	both["X-Api-Key"] = []string{w.keys["mallory"]}
	half := bearing(valid)
	half["X-Api-Key"] = []string{"a2ak_victim_" + strings.Repeat("A", 43)}
	other := bearing(token("k1", claims(map[string]any{"aud": "other"})))
	other["X-Api-Key"] = []string{w.keys["mallory"]}
	down := w.issuer.claims("acme", "victim", auth.RoleRequester, map[string]any{"iss": w.dead})
	return []attack{
		bad("no credential", nil),
		bad("wrong key", http.Header{"X-Api-Key": {w.keys["victim"][:len(w.keys["victim"])-4] + "AAAA"}}),
		bad("wrong signature", bearing(token("k1", victim)[:600]+strings.Repeat("A", 80))),
		bad("no token at all", bearing(victims)),
		bad("expired token", bearing(token("k1", claims(map[string]any{"exp": ago})))),
		bad("expired key", w.keyed("expired")),
		bad("revoked key", w.keyed("revoked")),
		bad("wrong audience", bearing(token("k1", claims(map[string]any{"aud": "other"})))),
		bad("another issuer", bearing(token("k1", claims(map[string]any{"iss": "https://evil.example"})))),
		bad("another's key", bearing(token("k2", victim, map[string]any{"kid": "k1"}))),
		bad("alg none", bearing(unsigned(victim))),
		bad("key confusion", bearing(confused(victim))),
		bad("an ID token", bearing(token("k1", claims(), map[string]any{"typ": "JWT"}))),
		bad("nobody", bearing(token("k1", claims(map[string]any{"sub": nil})))),
		bad("no tenant", bearing(token("k1", claims(map[string]any{"org": nil})))),
		bad("no person", bearing(token("k1", claims(map[string]any{"employee": nil})))),
		bad("an empty person", bearing(token("k1", claims(map[string]any{"employee": " "})))),
		bad("two credentials", both),
		bad("a wrong one and a valid one", half),
		bad("a valid one and a wrong one", other),
		bad("two Authorization headers", http.Header{"Authorization": {"Bearer " + valid, "Bearer " + token("k1", victim)}}),
		bad("two keys", http.Header{"X-Api-Key": {w.keys["mallory"], w.keys["victim"]}}),
		{"cannot be checked", bearing(token("k1", down)), http.StatusServiceUnavailable, auth.Principal{}},
		by("no role", "acme", "", bearing(token("k1", claims(map[string]any{"groups": nil})))),
		by("role of nothing", "acme", "ops", bearing(token("k1", w.issuer.claims("acme", "mallory", "ops")))),
		by("approver", "acme", auth.RoleApprover, bearing(token("k1", w.issuer.claims("acme", "mallory", auth.RoleApprover)))),
		by("admin", "acme", auth.RoleAdmin, bearing(token("k1", w.issuer.claims("acme", "mallory", auth.RoleAdmin)))),
		by("foreign", "acme", auth.RoleRequester, bearing(valid)),
		by("foreign, with a key", "acme", auth.RoleRequester, w.keyed("mallory")),
		by("a key with the victim's name", "acme", auth.RoleRequester, w.keyed("victim")),
		by("a service", "acme", auth.RoleRequester, w.keyed("robot")),
		by("for whom the victim acts", "acme", auth.RoleRequester, bearing(token("k1", claims(map[string]any{"act": map[string]any{"sub": "victim"}})))),
		by("other tenant", "initech", auth.RoleRequester, bearing(token("k1", w.issuer.claims("initech", "victim", auth.RoleRequester)))),
		by("operator of another tenant", "initech", auth.RoleOperator, bearing(token("k1", w.issuer.claims("initech", "victim", auth.RoleOperator)))),
		by("viewer of another tenant", "initech", auth.RoleViewer, bearing(token("k1", w.issuer.claims("initech", "victim", auth.RoleViewer)))),
	}
}

// Nobody reaches what is somebody else's, by any operation of any binding, before, during
// and after its run. Each refusal is the right one, says the same of a task that exists as
// of one that does not, and costs the same; one of a credential costs no read.
func TestAttacks(t *testing.T) {
	t.Parallel()
	attackEvery(t, func(t *testing.T, w *attacked, b attackBinding) {
		for _, a := range attacksOn(w) {
			for _, op := range attackOperations() {
				w.attack(t, b, a, op)
			}
		}
	})
}

// attack has an attacker ask for an operation of every task.
func (w *attacked) attack(t *testing.T, b attackBinding, a attack, op attackOperation) {
	t.Helper()
	what := a.name + ", " + op.name
	missing := b.ask(w, t, a.header, op, w.tasks["missing"])
	want := a.want
	if want == 0 && a.by.May(op.action) != nil {
		want = http.StatusForbidden
	}
	switch {
	case want == http.StatusUnauthorized:
		checkRefusedBy(t, what, missing, want, "UNAUTHENTICATED")
		checkChallenges(t, what, missing)
	case want == http.StatusForbidden:
		checkRefusedBy(t, what, missing, want, "PERMISSION_DENIED")
	case want == http.StatusServiceUnavailable:
		checkRefusedBy(t, what, missing, want, "UNAVAILABLE")
	case op.ofTask:
		if missing.reason() != "TASK_NOT_FOUND" || missing.Calls == 0 {
			t.Errorf("%s of a missing task: %+v", what, missing)
		}
	}
	if strings.Contains(missing.Body, victims) {
		t.Errorf("%s: %s", what, missing.Body)
	}
	if !op.ofTask {
		return
	}
	names := slices.Sorted(maps.Keys(w.tasks))
	if a.want != 0 {
		names = names[:1] // the credential is looked at before any task
	}
	for _, name := range names {
		got := b.ask(w, t, a.header, op, w.tasks[name])
		if name == "impossible" {
			got.Calls = missing.Calls // what can be no id need not be looked up
		}
		if d := diff.Diff(missing, got); d != "" {
			t.Errorf("%s of %s, compared with a missing task:\n%s", what, name, d)
		}
	}
}

// checkRefusedBy checks that an answer is a refusal that depends on the credential only.
func checkRefusedBy(t *testing.T, what string, a answered, status int, reason string) {
	t.Helper()
	if a.Status != status || a.reason() != reason || a.Calls != 0 {
		t.Errorf("%s: %+v, want %d %s", what, a, status, reason)
	}
}

// checkChallenges checks that a caller without a valid credential is told each way to send
// one.
func checkChallenges(t *testing.T, what string, a answered) {
	t.Helper()
	for _, scheme := range []string{"Bearer", "ApiKey"} {
		if !slices.ContainsFunc(a.Header.Values("WWW-Authenticate"), func(c string) bool { return c == scheme || strings.HasPrefix(c, scheme+" ") }) {
			t.Errorf("%s: the challenges %q have no %s", what, a.Header.Values("WWW-Authenticate"), scheme)
		}
	}
}

// unharmed checks that the tasks that were attacked are as they were, and continue.
func (w *attacked) unharmed(t *testing.T, b attackBinding) {
	t.Helper()
	get, follow, webhooks := operation("GetTask"), operation("SubscribeToTask"), operation("ListTaskPushNotificationConfigs")
	if ledger, err := os.ReadFile(w.ledger); err == nil && len(ledger) > 0 {
		t.Errorf("a tool has run that nobody approved: %s", ledger)
	}
	w.release()
	for owner, header := range w.owners() {
		parked := w.tasks[owner+" parked"]
		if a := w.send(t, header, approve("decision", parked, parked+".a1")); !strings.Contains(a.Body, "TASK_STATE_COMPLETED") {
			t.Errorf("the owner in %s approves: %s", owner, a.Body)
		}
		for _, state := range []string{"parked", "running", "ended"} {
			id := w.tasks[owner+" "+state]
			b.ask(w, t, header, follow, id) // to its end
			if a := b.ask(w, t, header, get, id); !strings.Contains(a.Body, "TASK_STATE_COMPLETED") || !strings.Contains(a.Body, victims) {
				t.Errorf("the task of %s that was %s: %s", owner, state, a.Body)
			}
			if a := b.ask(w, t, header, webhooks, id); strings.Count(a.Body, `"url":`) != 1 || !strings.Contains(a.Body, w.hook.URL) {
				t.Errorf("the webhooks of %s's task that was %s: %s", owner, state, a.Body)
			}
		}
	}
	if ledger, err := os.ReadFile(w.ledger); err != nil || strings.Count(string(ledger), "\n") != 2 {
		t.Errorf("the ledger has %s, %v; want two transfers", ledger, err)
	}
}
