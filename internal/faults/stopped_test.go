//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The process is stopped for longer than its tools may take, by much or by a moment, and they
// succeed meanwhile: a command with a limit of its own, one with that of the server, and a
// request. Each call has its result, and nobody is asked.
func TestStoppedWhileToolsEnd(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]time.Duration{"by much": 8 * time.Second, "by a moment": 3500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stoppedUntil(t, until)
		})
	}
}

// stoppedUntil stops the process until so long after the beginning of calls that may take 3 s.
func stoppedUntil(t *testing.T, until time.Duration) {
	t.Helper()
	folder := t.TempDir()
	open := filepath.Join(folder, "open")
	requested, answer := make(chan struct{}), make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(requested)
		<-answer
		_, _ = w.Write([]byte(`{"paid":true}`))
	}))
	t.Cleanup(service.Close)
	config := filepath.Join(folder, "c.yaml")
	const pay = `[sh, -c, 'echo begun; touch "$0.begun"; until [ -e "$1" ]; do sleep 0.02; done; echo paid; touch "$0.ended"', %s, %s]`
	ledger := func(name string) string { return filepath.Join(folder, name) }
	need(t, os.WriteFile(config, fmt.Appendf(nil, `
limits: {tool_timeout: 3s}
tools:
  - {command: own, description: Pays., approve: false, timeout: 3s, run: `+pay+`}
  - {command: server, description: Pays., approve: false, run: `+pay+`}
  - {http: request, description: Pays., approve: false, timeout: 3s, request: POST %s/pay, networks: [127.0.0.0/8]}
`, ledger("own"), open, ledger("server"), open, service.URL), 0o600))
	w := newWorld(t)
	w.flags = []string{"--config", config}
	s := w.start()
	ids := map[string]string{}
	began := time.Now()
	for _, name := range []string{"own", "server", "request"} {
		var sent struct{ Task *task }
		need(t, w.to().call(t.Context(), "SendMessage", object{
			"message": object{
				"messageId": name, "role": "ROLE_USER",
				"parts": []any{object{"data": object{"calls": []any{object{"tool": name, "args": object{}}}}}},
			},
			"configuration": object{"returnImmediately": true},
		}, &sent))
		ids[name] = sent.Task.ID
	}
	exists := func(name string) bool {
		_, err := os.Stat(ledger(name))
		return err == nil
	}
	eventually(t, "the tools run", func() bool { return exists("own.begun") && exists("server.begun") })
	<-requested
	need(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	eventually(t, "the process is stopped", func() bool { return stopped(t, s) })
	close(answer)
	need(t, os.WriteFile(open, nil, 0o600))
	eventually(t, "the commands have ended", func() bool { return exists("own.ended") && exists("server.ended") })
	w.elapses(time.Until(began.Add(until)))
	need(t, s.cmd.Process.Signal(syscall.SIGCONT))
	for name, id := range ids {
		var got task
		eventually(t, "the task of "+name+" rests", func() bool {
			got = must(w.to().get(t.Context(), id))(t)
			asked, err := got.Status.questions()
			return err != nil || len(asked) > 0 || got.Status.ended()
		})
		if got.Status.State != completed || !strings.Contains(got.text(), "paid") {
			t.Errorf("%s: the task is %s: %s", name, got.Status.State, got.text())
		}
	}
	struck(t, 1)
}

// stopped reports whether a process is stopped.
func stopped(t *testing.T, s *server) bool {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid)))(t)
	_, rest, _ := bytes.Cut(text, []byte(") "))
	return bytes.HasPrefix(rest, []byte("T"))
}
