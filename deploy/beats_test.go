package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// undecided is how long a message waits for a decision: longer than proxies wait for a silent
	// server.
	undecided = 95 * time.Second

	// elsewhere is the configuration of a server whose client waits for another person.
	elsewhere = "auth: {tenant: acme}\ntools:\n- builtin: demo\ngates:\n- {tool: transfer_money, name: others, four_eyes: true}\n"
)

// twoPeople is a server whose client may not decide, and the clients of both.
type twoPeople struct {
	server           *process
	client, approver *http.Client
}

// between runs a server for two people, with a proxy in front for the client.
func between(t *testing.T, behind proxy) *twoPeople {
	t.Helper()
	dir, listen := chroot(t), free(t)
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	client := func(to http.RoundTripper, person, role string) *http.Client {
		key, err := exec.Command(program(t), "keys", "add", person, "--role", role, "--tenant", "acme", "--file", keys).Output()
		if err != nil {
			t.Fatal(err)
		}
		return &http.Client{Transport: withKey{to, strings.TrimSpace(string(key))}}
	}
	p := &twoPeople{client: client(certify(t, dir, listen).Transport, "alice", "requester"), approver: client(http.DefaultTransport, "olga", "approver")}
	p.server = serve(t, "A2A_SERVER_CONFIG="+write(t, t.TempDir(), "config.yaml", elsewhere), "A2A_SERVER_PUBLIC_URL="+public, "A2A_SERVER_AUTH_KEYS_FILE="+keys)
	behind(t, dir, listen, p.server.url)
	return p
}

// approve approves everything that waits.
func (p *twoPeople) approve(t *testing.T) {
	t.Helper()
	status, answer := call(t, p.approver, http.MethodGet, p.server.url+"/api/v1/approvals", nil)
	var page struct {
		Items []struct{ ID, Digest string }
	}
	if err := json.Unmarshal([]byte(answer), &page); err != nil || status != http.StatusOK || len(page.Items) == 0 {
		t.Fatalf("approvals = %d %s, %v", status, answer, err)
	}
	for _, a := range page.Items {
		if status, answer := call(t, p.approver, http.MethodPost, p.server.url+"/api/v1/approvals/"+a.ID+"/decision", object{"decision": "approve", "digest": a.Digest}); status != http.StatusOK {
			t.Errorf("decide = %d %s", status, answer)
		}
	}
}

// waited is the response to a message that waits.
type waited struct {
	name, status, body string
	beats              int // reads of nothing but space
	err                error
}

// wait sends a message that waits.
func wait(ctx context.Context, client *http.Client, name, path string, body object) (got waited) {
	got.name = name
	ctx, cancel := context.WithTimeout(ctx, undecided+patience)
	defer cancel()
	raw, err := json.Marshal(body)
	if err != nil {
		return waited{name: name, err: err}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, public+path, bytes.NewReader(raw))
	if err != nil {
		return waited{name: name, err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return waited{name: name, err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	got.status = resp.Status
	for buffer := make([]byte, 64<<10); got.err == nil; {
		var n int
		n, got.err = resp.Body.Read(buffer)
		got.body += string(buffer[:n])
		if n > 0 && strings.TrimSpace(got.body) == "" {
			got.beats++
		}
	}
	if errors.Is(got.err, io.EOF) {
		got.err = nil
	}
	return got
}

// A message waits for the decision of another person through a proxy, however long that takes, and its
// beats pass. The test is the first of this package, and the messages wait while the other tests run.
func TestProxiesKeepAMessageThatWaits(t *testing.T) {
	responses, sent := make(chan waited, 4), 0
	var servers []*twoPeople
	for name, behind := range proxies() {
		p := between(t, behind)
		servers = append(servers, p)
		for path, m := range map[string]object{
			"/message:send": message("m1", "/transfer_money amount=5 to=bob", nil),
			"/":             {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("m2", "/transfer_money amount=6 to=bob", nil)},
		} {
			sent++
			go func() { responses <- wait(t.Context(), p.client, name+" "+path, path, m) }()
		}
	}
	over := time.After(undecided)
	t.Parallel()
	<-over
	for _, p := range servers {
		p.approve(t)
	}
	for range sent {
		got := <-responses
		if got.err != nil || !strings.HasPrefix(got.status, "200") || !json.Valid([]byte(got.body)) || !strings.Contains(got.body, "TASK_STATE_COMPLETED") {
			t.Errorf("%s: %s %q, %v", got.name, got.status, got.body, got.err)
		}
		if got.beats < 10 { // of 31, some of which may come together
			t.Errorf("%s: %d beats came before the response", got.name, got.beats)
		}
	}
}
