package web_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/testserver"
)

// until waits until an approval is as it should be.
func (w *world) until(id string, is func(*approval.Approval) bool) *approval.Approval {
	w.t.Helper()
	wake, stop := w.Approvals().Watch(alice)
	defer stop()
	for {
		a, err := w.Approvals().Get(w.t.Context(), alice, id)
		if err != nil {
			w.t.Fatal(err)
		}
		if is(a) {
			return a
		}
		select {
		case <-wake:
		case <-time.After(time.Minute):
			w.t.Fatalf("the approval stays %+v", a)
		}
	}
}

// The page of an approval has the times at which somebody was told again, and who was added; they may
// decide on it from then on.
func TestTimesShown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	text := "gates:\n  - {tool: mail, approvers: {roles: [finance]}, expires: 24h, remind: 4h, escalate: {after: 8h, add_roles: [treasury, \"<cfo>\u202e\"]}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *testserver.Config) { c.File = file })
	id, digest := w.asks("mail", letter)
	at, tara := "/ui/approvals/"+id, person("tara", auth.RoleApprover, "treasury")
	exact := func(at *time.Time) string {
		return at.UTC().Format(`<time datetime="2006-01-02T15:04:05Z" data-zone="exact">2006-01-02 15:04:05 UTC</time>`)
	}
	rejects := url.Values{"decision": {"reject"}, "digest": {digest}}
	w.has(w.get(tara, at), http.StatusOK, []string{"finance"}, "Reminded", "Escalated")
	w.has(w.decide(tara, id, rejects), http.StatusForbidden, nil)

	w.Advance(5 * time.Hour)
	a := w.until(id, func(a *approval.Approval) bool { return a.Reminded != nil })
	w.has(w.get(tara, at), http.StatusOK, []string{"Reminded " + exact(a.Reminded) + "."}, "Escalated")

	w.Advance(4 * time.Hour)
	a = w.until(id, func(a *approval.Approval) bool { return a.Escalated != nil })
	p := w.get(tara, at)
	w.has(p, http.StatusOK, []string{"Reminded " + exact(a.Reminded) + ".", "Escalated to &lt;cfo&gt;", "U&#43;202E", ", treasury " + exact(a.Escalated) + "."})
	w.safe(at, p)
	w.has(w.decide(tara, id, rejects), http.StatusSeeOther, nil)
	w.has(w.get(tara, at), http.StatusOK, []string{"Reminded " + exact(a.Reminded), "Escalated to", exact(a.Escalated)})
	w.until(id, func(a *approval.Approval) bool { return a.State == approval.Rejected })
}
