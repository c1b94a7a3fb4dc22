//go:build linux

package faults

import (
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

// The process is stopped until shortly after the time of its tools is over, and they succeed meanwhile: a
// command with a limit of its own, one with that of the server, and a request. Each call has
// its result, and nobody is asked.
func TestStrangerStoppedShortly(t *testing.T) {
	for _, late := range []time.Duration{3500 * time.Millisecond, 3800 * time.Millisecond} {
		t.Run(late.String(), func(t *testing.T) { strangerStopped(t, late) })
	}
}

func strangerStopped(t *testing.T, late time.Duration) {
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
tools:
  - {command: own, description: Pays., approve: false, timeout: 3s, run: `+pay+`}
  - {command: server, description: Pays., approve: false, run: `+pay+`}
  - {http: request, description: Pays., approve: false, timeout: 3s, request: POST %s/pay, networks: [127.0.0.0/8]}
`, ledger("own"), open, ledger("server"), open, service.URL), 0o600))
	w := newWorld(t)
	w.flags = []string{"--config", config, "--limits-tool-timeout", "3s"}
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
	time.Sleep(time.Until(began.Add(late)))
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
