package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/testserver"
	"a2a-server/task/inbox/api"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

func TestMain(m *testing.M) {
	// Servers are short-lived and small: most collections would find little.
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

// patience turns a hang into a failure.
const patience = time.Minute

func member(subject string, roles ...string) auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: subject, Roles: roles, Method: "test"}
}

// The principals of the tests. mallory has every role in another tenant.
var (
	alice   = member("alice", auth.RoleRequester)
	olga    = member("olga", auth.RoleApprover)
	cfo     = member("cfo", auth.RoleApprover, "cfo")
	vera    = member("vera", auth.RoleViewer)
	pete    = member("pete", auth.RoleOperator)
	root    = member("root", auth.RoleAdmin)
	mallory = auth.Principal{Tenant: "evil", Subject: "mallory", Roles: auth.Roles(), Method: "test"}
	nobody  = auth.Principal{}
)

// callers believes what [a2aservertest.Callers] does, except about those who were revoked, or demoted
// to requesters.
type callers struct {
	mu      sync.Mutex
	revoked map[string]bool
	demoted map[string]bool
	changed chan struct{}
}

func (c *callers) Authenticate(ctx context.Context, given *auth.Credentials) (auth.Principal, error) {
	p, err := a2aservertest.Callers{}.Authenticate(ctx, given)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.revoked[p.Subject] {
		return auth.Principal{}, &auth.Error{Code: "invalid_token", Description: "it was revoked"}
	}
	if c.demoted[p.Subject] {
		p.Roles = []string{auth.RoleRequester}
	}
	return p, err
}

// Changed implements [auth.Changing].
func (c *callers) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *callers) revoke(subject string) { c.change(c.revoked, subject) }

func (c *callers) demote(subject string) { c.change(c.demoted, subject) }

func (c *callers) change(who map[string]bool, subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	who[subject] = true
	close(c.changed)
	c.changed = make(chan struct{})
}

// world is a server with its approvals API, whose exchanges of each shape are validated against
// the OpenAPI document.
type world struct {
	*a2aservertest.Server
	*callers
	t   testing.TB
	doc validator.Validator
}

func above(limit float64) approval.Predicate {
	return func(_ agent.ReadonlyContext, _ tool.Tool, args map[string]any) (bool, error) {
		n, _ := args["amount"].(float64)
		return n > limit, nil
	}
}

// newWorld starts a server whose tools are pay, whose IBAN is masked, and ship; four eyes decide
// payments of more than 1,000 and the role cfo those of more than 5,000.
func newWorld(t testing.TB, changes ...func(*testserver.Config)) *world {
	t.Helper()
	w := &world{t: t, callers: &callers{revoked: map[string]bool{}, demoted: map[string]bool{}, changed: make(chan struct{})}, doc: documented(t)}
	c := testserver.Config{Authenticator: w.callers, Tools: []tool.Toolset{tool.NewToolset("shop", newTool(t, "pay"), newTool(t, "ship"))}, Policy: gates(t)}
	for _, change := range changes {
		change(&c)
	}
	w.Server = a2aservertest.New(t, c.Must(t))
	return w
}

func gates(t testing.TB) *approval.Policy {
	t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Tool: "pay", Name: "cfo", When: above(5000), Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"cfo"}}, Expires: time.Hour}},
		{Tool: "pay", Name: "large", When: above(1000), Terms: approval.Terms{FourEyes: true, Expires: time.Hour}},
		{Tool: "pay", Name: "any", Terms: approval.Terms{Mask: []string{"/iban"}, Expires: time.Hour, Risk: approval.RiskHigh}},
		{Tool: "ship", Terms: approval.Terms{Expires: 2 * time.Hour}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newTool(t testing.TB, name string) tool.CallableTool {
	t.Helper()
	type args struct {
		Amount float64 `json:"amount"`
		IBAN   string  `json:"iban,omitempty"`
	}
	one, err := functiontool.New(functiontool.Config{Name: name, Description: name + " something"}, func(_ tool.Context, a args) (map[string]any, error) {
		return map[string]any{"done": a.Amount, "iban": a.IBAN}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return one
}

var (
	compile sync.Once
	checks  validator.Validator
)

func documented(t testing.TB) validator.Validator {
	t.Helper()
	compile.Do(func() {
		doc, err := libopenapi.NewDocument(api.Document())
		if err != nil {
			t.Fatal(err)
		}
		var free []string // any JSON
		for _, name := range []string{"arguments", "parameters", "schema", "payload", "response", "result", "a2a", "may"} {
			free = append(free, "$.body.**."+name+".**", "$.body."+name+".**")
		}
		var errs []error
		if checks, errs = validator.NewValidator(doc, config.WithStrictMode(), config.WithStrictIgnorePaths(free...), config.WithFormatAssertions(), config.WithoutSecurityValidation()); errs != nil {
			t.Fatal(errs)
		}
	})
	if checks == nil {
		t.Fatal("the OpenAPI document cannot be used")
	}
	return checks
}

// answer is a response of the API.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	raw    []byte
}

func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.raw)
	}
	return a
}

// problem reads a problem with a status and a reason.
func (a answer) problem(status int, reason string) client.Error {
	a.t.Helper()
	e := into[client.Error](a.want(status))
	if e.Reason != reason || e.Status != status || e.Title == "" || e.Detail == "" || a.header.Get("Content-Type") != "application/problem+json" {
		a.t.Fatalf("%d %s is no problem with the reason %s", a.status, a.raw, reason)
	}
	return e
}

func into[T any](a answer) (v T) {
	a.t.Helper()
	if err := json.Unmarshal(a.raw, &v); err != nil {
		a.t.Fatalf("%v: %s", err, a.raw)
	}
	return v
}

// request returns a request of a principal. body is text, or any value as JSON.
func (w *world) request(by auth.Principal, method, path string, body any) *http.Request {
	w.t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			w.t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.URL+api.Path+path, bytes.NewReader(raw))
	if err != nil {
		w.t.Fatal(err)
	}
	if raw == nil {
		r.Body, r.GetBody, r.ContentLength = nil, nil, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	if !by.IsZero() {
		as, err := json.Marshal(by)
		if err != nil {
			w.t.Fatal(err)
		}
		r.Header.Set("A2a-Test-Caller", string(as))
	}
	return r
}

var transport = &http.Transport{MaxIdleConnsPerHost: 100}

// do sends a request, and validates the exchange if its path is in the document.
func (w *world) do(r *http.Request) answer {
	w.t.Helper()
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	defer transport.CloseIdleConnections()
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := (&http.Client{Transport: transport, Timeout: patience, CheckRedirect: stay}).Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{t: w.t, status: resp.StatusCode, header: resp.Header}
	if a.raw, err = io.ReadAll(resp.Body); err != nil {
		w.t.Fatal(err)
	}
	w.validate(r, body, resp, a.raw)
	return a
}

var validating sync.Mutex

// validate compares an exchange with openapi.json, the first of each shape. The race detector makes
// the library ten times slower, so that only a run without it validates (see the Makefile).
func (w *world) validate(r *http.Request, body []byte, resp *http.Response, raw []byte) {
	w.t.Helper()
	if racing || resp.Header.Get("Allow") != "" || resp.StatusCode/100 == 3 || resp.StatusCode == http.StatusNotFound && strings.Contains(string(raw), "unknown path") || strings.HasSuffix(r.URL.Path, "/openapi.json") {
		return // not of an operation
	}
	if known(r, body, resp, raw) {
		return
	}
	again := *resp
	again.Body = io.NopCloser(bytes.NewReader(sample(raw)))
	asked := r.Clone(r.Context())
	asked.Body = io.NopCloser(bytes.NewReader(body))
	asked.Header = http.Header{"Content-Type": r.Header["Content-Type"]}
	again.Header = http.Header{"Content-Type": resp.Header["Content-Type"]}
	validating.Lock() // the library writes to the document while it reads it
	defer validating.Unlock()
	ok, errs := w.doc.ValidateHttpResponse(asked, &again)
	if ok && resp.StatusCode < 300 {
		asked.Body = io.NopCloser(bytes.NewReader(body))
		ok, errs = w.doc.ValidateHttpRequestSync(asked)
	}
	if !ok {
		for _, e := range errs {
			w.t.Errorf("%s %s: %d: %s: %s", r.Method, r.URL, resp.StatusCode, e.Message, e.Reason)
			for _, s := range e.SchemaValidationErrors {
				w.t.Errorf("  %s: %s", s.FieldPath, s.Reason)
			}
		}
		w.t.Fatalf("%s", raw)
	}
}

func (w *world) get(by auth.Principal, path string) answer {
	w.t.Helper()
	return w.do(w.request(by, http.MethodGet, path, nil))
}

func (w *world) post(by auth.Principal, path string, body any) answer {
	w.t.Helper()
	return w.do(w.request(by, http.MethodPost, path, body))
}

// ask has a principal send calls, and returns their task's approvals, oldest first, whole.
func (w *world) ask(by auth.Principal, text string) []client.Approval {
	w.t.Helper()
	as := w.As(by)
	task := as.Send(text)
	var all []client.Approval
	for _, a := range as.Pending(task) {
		all = append(all, into[client.ApprovalDetail](w.get(by, "/approvals/"+a.ID).want(http.StatusOK)).Approval)
	}
	if len(all) == 0 {
		w.t.Fatalf("%s asks nothing: %s", text, task.Status.State)
	}
	return all
}

// askCalls is ask for several calls of one message.
func (w *world) askCalls(by auth.Principal, calls ...map[string]any) []client.Approval {
	w.t.Helper()
	as := w.As(by)
	list := make([]any, len(calls))
	for i, c := range calls {
		list[i] = c
	}
	task := as.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"calls": list})))
	var all []client.Approval
	for _, a := range as.Pending(task) {
		all = append(all, into[client.ApprovalDetail](w.get(by, "/approvals/"+a.ID).want(http.StatusOK)).Approval)
	}
	if len(all) != len(calls) {
		w.t.Fatalf("%d approvals of %d calls", len(all), len(calls))
	}
	return all
}

func call(name string, amount float64) map[string]any {
	return map[string]any{"tool": name, "args": map[string]any{"amount": amount}}
}

func approve(a client.Approval) client.Decision {
	return client.Decision{Decision: client.Approve, Digest: a.Digest}
}

func decisionOf(a client.Approval) string { return "/approvals/" + a.ID + "/decision" }

// poll calls f until it is true.
func (w *world) poll(what string, f func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeoutCause(w.t.Context(), patience, errors.New("too late"))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("%s: %v", what, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
