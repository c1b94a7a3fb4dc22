package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// reader is an identity of the matrix.
type reader struct {
	name    string
	key     apikey.Key
	decides bool // the masked call
	asked   bool // for it
}

// readers are the identities: roles alone and together, programs, other tenants, and none that counts.
func readers() (all []reader) {
	of := func(name, tenant string, kind auth.Kind, roles ...string) *reader {
		all = append(all, reader{name: name, key: apikey.Key{ID: name, Tenant: tenant, Kind: kind, Roles: roles, Person: name}})
		return &all[len(all)-1]
	}
	person := func(name string, roles ...string) *reader { return of(name, "acme", "", roles...) }
	person("asker", auth.RoleRequester).asked = true
	person("requester", auth.RoleRequester)
	person("viewer", auth.RoleViewer)
	person("operator", auth.RoleOperator)
	person("approver", auth.RoleApprover)
	person("admin", auth.RoleAdmin)
	person("finance", auth.RoleApprover, "finance").decides = true
	person("finance-viewer", auth.RoleApprover, auth.RoleViewer, "finance").decides = true
	person("finance-operator", auth.RoleApprover, auth.RoleOperator, "finance").decides = true
	person("viewer-approver", auth.RoleViewer, auth.RoleApprover)
	person("viewer-finance", auth.RoleViewer, "finance")
	person("operator-approver", auth.RoleOperator, auth.RoleApprover)
	person("operator-admin", auth.RoleOperator, auth.RoleAdmin)
	person("viewer-admin", auth.RoleViewer, auth.RoleAdmin)
	person("requester-viewer", auth.RoleRequester, auth.RoleViewer)
	person("requester-approver", auth.RoleRequester, auth.RoleApprover)
	person("every-role", auth.Roles()...)
	person("finance-alone", "finance")
	for _, role := range []string{auth.RoleViewer, auth.RoleOperator} {
		of("service-"+role, "acme", auth.KindService, role)
	}
	of("service-finance", "acme", auth.KindService, auth.RoleApprover, auth.RoleViewer, "finance")
	for _, role := range []string{auth.RoleViewer, auth.RoleApprover, auth.RoleOperator, auth.RoleAdmin} {
		of("other-"+role, "umbrella", "", role, "finance")
	}
	of("expired", "acme", "", auth.RoleViewer, auth.RoleApprover, "finance").key.Expires = time.Now().Add(-time.Hour)
	all = append(all, reader{name: "nobody"})
	return all
}

// Who sees a masked value, and a task that a gate keeps: each identity on each surface, over the wire.
func TestWhoSeesWhat(t *testing.T) {
	t.Parallel()
	const iban, diagnosis = "DE99 5555 7777 1111", "the diagnosis of the patient"
	file := filepath.Join(t.TempDir(), "keys.yaml")
	c, _ := configured(t, fmt.Sprintf(`
auth: {keys: {file: %q}}
gates:
  - {tool: pay, mask: [/to], approvers: {roles: [finance]}, elsewhere: true}
  - {tool: echo, mask: [/text], mask_task: true, approvers: {roles: [finance]}, elsewhere: true}
limits: {auth_failures: 0, rate: 0}
`, file))
	pay, err := functiontool.New(functiontool.Config{Name: "pay", Description: "pays"}, func(tool.Context, struct {
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}) (string, error) {
		return "paid", nil // an artifact is the task's own, whatever it repeats
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Tools = append(c.Tools, tool.NewToolset("payments", pay))
	keys := map[string]string{}
	all := readers()
	if len(all) != 27 {
		t.Fatalf("%d identities", len(all))
	}
	for _, r := range all {
		if r.name != "nobody" {
			keys[r.name] = newKey(t, file, r.key)
		}
	}
	in := start(t, c)
	asker := []string{"X-API-Key", keys["asker"]}
	said := `/pay {"amount":20,"to":"` + iban + `"}`
	masked, _ := in.sendAs(t, message("m1", said), asker...)
	kept, _ := in.sendAs(t, message("m2", `/echo {"text":"`+diagnosis+`"}`), asker...)
	tags := map[string]string{} // of the ids of events
	for _, of := range []string{masked.ID, kept.ID} {
		frame := in.sees(t, "POST /tasks/"+of+":subscribe", keys["asker"], false)
		_, id, _ := strings.Cut(frame, "-")
		tags[of], _, _ = strings.Cut(id, "\n")
	}
	digest := func(of string) string {
		_, text, _ := strings.Cut(in.sees(t, "GET /api/v1/approvals/"+of+".a1", keys["finance"], true), `"digest":"`)
		text, _, _ = strings.Cut(text, `"`)
		return text
	}
	secrets := []string{iban, diagnosis, digest(masked.ID), digest(kept.ID)} // by a digest one could guess
	look := func(t *testing.T, state string) {
		t.Helper()
		for _, r := range all {
			seen := ""
			for _, of := range []string{masked.ID, kept.ID} {
				for _, path := range []string{
					"GET /tasks/{id}?historyLength=100", "GET /tasks", "POST /tasks/{id}:subscribe", "POST /tasks/{id}:subscribe 0-{tag}", "POST /tasks/{id}:subscribe 1-{tag}", "POST /tasks/{id}:subscribe 4-{tag}", "POST /tasks/{id}:subscribe 5-{tag}",
					"POST / GetTask", "POST / tasks/get",
					"GET /api/v1/approvals", "GET /api/v1/approvals?state=settled", "GET /api/v1/approvals?order=deadline", "GET /api/v1/approvals/{id}.a1", "GET /api/v1/events", "GET /api/v1/tasks", "GET /api/v1/tasks/{id}",
					"GET /api/v1/tasks/{id}/events", "GET /api/v1/audit", "GET /api/v1/grants", "GET /api/v1/webhooks",
					"POST /api/v1/approvals/{id}.a1/decision", "POST /api/v1/decisions",
					"GET /ui/", "GET /ui/history", "GET /ui/approvals/{id}.a1", "GET /ui/tasks", "GET /ui/tasks/{id}", "GET /ui/tasks/{id}?raw", "GET /ui/batch?id={id}.a1", "GET /ui/events",
				} {
					if of != masked.ID && !strings.Contains(path, "{id}") {
						continue
					}
					body := in.sees(t, strings.NewReplacer("{id}", of, "{tag}", tags[of]).Replace(path), keys[r.name], state == "ended" && !strings.HasSuffix(path, "/events"))
					body = strings.ReplaceAll(body, said, "")
					body = strings.ReplaceAll(body, strings.ReplaceAll(said, `"`, `\"`), "")
					body = strings.ReplaceAll(body, strings.ReplaceAll(said, `"`, `&#34;`), "")
					body = strings.ReplaceAll(body, strings.ReplaceAll(said, `"`, `\&#34;`), "")
					for _, secret := range secrets {
						if strings.Contains(body, secret) {
							seen += path + "\n"
							if !r.decides && !r.asked {
								t.Errorf("%s: %s sees %q at %s: %.3000s", state, r.name, secret, path, body)
							}
						}
					}
				}
			}
			if follows := "POST /tasks/{id}:subscribe 1-{tag}\n"; state == "ended" && (r.asked || strings.HasPrefix(r.name, "finance-") && r.decides) != strings.Contains(seen, follows) {
				t.Errorf("%s sees the values whole at %s", r.name, seen)
			}
			if whole := "GET /api/v1/approvals/{id}.a1\n"; (r.decides || r.asked) != strings.Contains(seen, whole) {
				t.Errorf("%s: %s sees the values whole at %s", state, r.name, seen)
			}
		}
	}
	look(t, "pending")
	for _, of := range []string{masked.ID, kept.ID} {
		if status, said := in.do(t, http.MethodPost, "/api/v1/approvals/"+of+".a1/decision", `{"decision":"approve","digest":"`+digest(of)+`"}`, "X-API-Key", keys["finance"]); status != http.StatusOK {
			t.Fatalf("the decision: %d %s", status, said)
		}
		if seen := in.sees(t, "POST /tasks/"+of+":subscribe 1-"+tags[of], keys["asker"], true); !strings.Contains(seen, "COMPLETED") {
			t.Fatalf("the stream of a decided task: %s", seen)
		}
	}
	look(t, "ended")
	for _, path := range []string{"GET /tasks/" + masked.ID + "?historyLength=9", "POST /tasks/" + masked.ID + ":subscribe 1-" + tags[masked.ID], "GET /ui/tasks/" + masked.ID} {
		if seen := in.sees(t, path, keys["viewer"], true); !strings.Contains(seen, "•••") {
			t.Errorf("a viewer's %s has no masked question: %s", path, seen)
		}
	}
}

// sees returns what an identity is answered, of a stream its first frame or, to its end, all.
func (in *instance) sees(t *testing.T, what, key string, toItsEnd bool) string {
	t.Helper()
	method, path, _ := strings.Cut(what, " ")
	path, last, _ := strings.Cut(path, " ")
	body := ""
	switch {
	case last == "GetTask":
		body, last = request(t, "GetTask", map[string]any{"id": path, "historyLength": 100}), ""
	case strings.HasSuffix(path, "/decision"):
		body = `{"decision":"approve","digest":"0000"}`
	case strings.HasSuffix(path, "/decisions"):
		body = `{"items":[]}`
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, in.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	if key != "" {
		r.Header.Set("X-API-Key", key)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := in.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if toItsEnd || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text.WriteString(lines.Text() + "\n"); strings.HasPrefix(lines.Text(), "data:") {
			break
		}
	}
	return text.String()
}
