package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	// decided is the time until the task of a waiting message rests: longer than proxies wait for a
	// silent server.
	decided = 95 * time.Second

	// waiting is the configuration of a server with a task that takes that long.
	waiting = `
tools:
- command: decide
  description: stands for a call that another person decides
  run: [/bin/sleep, "95"]
  dir: /
gates:
- {name: none, tool: decide, action: allow}
`
)

// waited is the response to a message that waits.
type waited struct {
	name, status, body string
	beats              int // reads of nothing but space
	err                error
}

// wait sends a message that waits.
func wait(ctx context.Context, client *http.Client, name, path string, body object) (got waited) {
	got.name = name
	ctx, cancel := context.WithTimeout(ctx, decided+patience)
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

// A message waits for its task through a proxy, however long that takes, and its beats pass. The test
// is the first of this package, and the messages wait while the other tests run.
func TestProxiesKeepAMessageThatWaits(t *testing.T) {
	responses, sent := make(chan waited, 4), 0
	for name, behind := range proxies() {
		client := inFront(t, behind, "A2A_SERVER_CONFIG="+write(t, t.TempDir(), "config.yaml", waiting), "A2A_SERVER_PUBLIC_URL="+public, noAuth)
		for path, m := range map[string]object{
			"/message:send": message("m1", "/decide", nil),
			"/":             {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("m2", "/decide", nil)},
		} {
			sent++
			go func() { responses <- wait(t.Context(), client, name+" "+path, path, m) }()
		}
	}
	t.Parallel()
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
