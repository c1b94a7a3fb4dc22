package e2e_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/internal/testserver"
)

// scraped returns the answer of the port of metrics.
func (in *instance) scraped(t *testing.T, path string, header ...string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+in.server.MetricsAddr().String()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := in.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(said)
}

func wantSeries(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the metrics have no line %s, in\n%s", line, text)
		}
	}
}

// Metrics count approvals, calls and errors of a server, and survive a hostile caller.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"admin.listen": "127.0.0.1:0"})
	c.File = filepath.Join(t.TempDir(), "a2a-server.yaml")
	rewrite(t, c.File, "gates: [{name: no-streams, tool: stream, action: deny}]\n")
	in := start(t, c)
	asked := in.send(t, "m1", "/transfer_money to=bob amount=5")
	_, text := in.scraped(t, "/metrics")
	wantSeries(t, text, `a2a_server_approvals_pending 1`, `a2a_server_tasks{state="input-required"} 1`, `a2a_server_tasks{state="working"} 0`)
	in.approve(t, "m2", asked.ID, asked.ID+".a1")
	in.send(t, "m3", "/echo text=hi")
	in.do(t, http.MethodPost, "/message:send", `{"message":{"messageId":"m4","role":"ROLE_USER","parts":[{"data":{"tool":"evil\"} 1\nx","args":{}}}]}}`, "Content-Type", "application/json", "A2A-Version", "1.0")
	in.fetch(t, http.MethodGet, "/tasks/01a21a20-19c4-7e57-9e5d-833a894ebaa7", "", "A2A-Version", "1.0")
	in.sendAs(t, approve("m5", asked.ID, asked.ID+".a1"))
	in.reload(t)
	in.send(t, "m6", "/stream")
	if _, said := in.get(t, "/readyz?verbose"); !strings.Contains(said, "disk: ") {
		t.Errorf("/readyz?verbose says %q, and nothing about the disk", said)
	}
	for _, path := range []string{"/api/v1/approvals", "/evil"} {
		in.get(t, path)
	}
	_, text = in.scraped(t, "/metrics")
	wantSeries(
		t, text,
		`a2a_server_approvals_requested_total{gate="tool"} 1`,
		`a2a_server_approvals_resolved_total{channel="a2a",gate="tool",outcome="approved"} 1`,
		`a2a_server_approval_wait_seconds_count{gate="tool",outcome="approved"} 1`,
		`a2a_server_tool_calls_total{outcome="ok",tool="transfer_money"} 1`,
		`a2a_server_tool_calls_total{outcome="ok",tool="echo"} 1`,
		`a2a_server_tool_execution_duration_seconds_count{tool="echo"} 1`,
		`a2a_server_a2a_errors_total{reason="TASK_NOT_FOUND"} 1`,
		`a2a_server_a2a_requests_total{method="GetTask"} 1`,
		`a2a_server_policy_reload_total{result="ok"} 1`,
		`a2a_server_approval_conflicts_total{kind="already"} 1`,
		`a2a_server_ready 1`, `a2a_server_tasks_damaged 0`,
		`a2a_server_policy_decisions_total{gate="tool",verdict="ask"} 1`,
		`a2a_server_policy_decisions_total{gate="default",verdict="allow"} 1`,
		`a2a_server_policy_decisions_total{gate="no-streams",verdict="deny"} 1`,
		`a2a_server_http_request_duration_seconds_count{code="2xx",route="SendMessage"} 6`,
		`a2a_server_http_request_duration_seconds_count{code="4xx",route="GetTask"} 1`,
		`a2a_server_http_request_duration_seconds_count{code="2xx",route="probes"} 1`,
		`a2a_server_http_request_duration_seconds_count{code="2xx",route="approvals"} 1`,
		`a2a_server_http_request_duration_seconds_count{code="4xx",route="other"} 1`,
	)
	if strings.Contains(text, "evil") {
		t.Errorf("a caller has chosen a label, in\n%s", text)
	}
	for _, c := range []struct {
		path   string
		header []string
		want   int
	}{
		{"/", nil, 404},
		{"/debug/pprof/heap", nil, 404},
		{"/metrics", []string{"Host", "rebound.example"}, 403},
		{"/metrics", []string{"Origin", "https://evil.example"}, 403},
	} {
		if got, _ := in.scraped(t, c.path, c.header...); got != c.want {
			t.Errorf("GET %s with %q is answered with %d, want %d", c.path, c.header, got, c.want)
		}
	}
	if status, _ := in.get(t, "/metrics"); status != http.StatusNotFound {
		t.Errorf("the port of clients serves /metrics with %d", status)
	}
}

// A secret guards metrics, a new value counts at once, and without a value nothing is open.
func TestMetricsNeedTheirToken(t *testing.T) {
	t.Parallel()
	c := load(t, nil)
	c.File = filepath.Join(t.TempDir(), "a2a-server.yaml")
	secret := filepath.Join(t.TempDir(), "token")
	rewrite(t, secret, "first\n")
	if err := os.Chmod(secret, 0o600); err != nil {
		t.Fatal(err)
	}
	rewrite(t, c.File, "secrets: {prometheus: {file: "+secret+"}}\nadmin: {listen: '127.0.0.1:0', token: {secret: prometheus}}\n")
	in := start(t, c)
	want := func(token string, want int) {
		t.Helper()
		if got, _ := in.scraped(t, "/metrics", "Authorization", "Bearer "+token); got != want {
			t.Errorf("with the token %q a scrape is answered with %d, want %d", token, got, want)
		}
	}
	want("", 401)
	want("first", 200)
	rewrite(t, secret, "second\n")
	want("first", 401)
	want("second", 200)
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		want("second", 503)
	}
	rewrite(t, secret, "")
	want("second", 503)
	rewrite(t, secret, "third")
	want("third", 200)
	if gone, back := in.log.find("a secret cannot be read"), in.log.find("the secret can be read again"); len(gone) != 2 || len(back) != 1 {
		t.Errorf("the log has %d lines about the missing and the empty token, %d about the new one; want one for each", len(gone), len(back))
	}
}

// An address that other machines reach needs a token, whatever authentication clients need.
func TestMetricsArePrivate(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"admin.listen": "0.0.0.0:0", "insecure_no_auth": "true"})
	if s, err := testserver.New(c); err == nil || !strings.Contains(err.Error(), "admin.token") {
		t.Errorf("New() = %v, %v, want an error that names admin.token", s, err)
	}
}

// A probe tells details to this machine, and not to the clients of a proxy on it.
func TestReadyDetails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := startInside(t, load(t, map[string]string{"store": "memory"}))
		in.send(t, "m1", "/transfer_money to=bob amount=5")
		time.Sleep(3 * time.Second) // of the bubble
		_, said := in.do(t, http.MethodGet, "/readyz?verbose", "")
		for _, part := range []string{"ok\n", "queue: 0 waiting", "approvals: 1 pending, the oldest for 3s\n", "tasks: 0 damaged\n"} {
			if !strings.Contains(said, part) {
				t.Errorf("/readyz?verbose says %q, which has no %q", said, part)
			}
		}
		for _, header := range []string{"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"} {
			if _, said := in.do(t, http.MethodGet, "/readyz?verbose", "", header, "192.0.2.1"); said != "ok\n" {
				t.Errorf("a client of a proxy, with %s, is told %q", header, said)
			}
		}
	})
}
