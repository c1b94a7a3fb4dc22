//go:build unix

package main

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// One signal ends the server in order, a second one at once, whatever still runs.
func TestSignals(t *testing.T) {
	t.Parallel()
	for name, signals := range map[string][]syscall.Signal{
		"SIGTERM": {syscall.SIGTERM},
		"SIGINT":  {syscall.SIGINT},
		"twice":   {syscall.SIGTERM, syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSite(t, "limits: {grace: 1h}\n").start("")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if len(signals) == 1 {
				p.end(signals[0])
				if p.err != nil || !strings.Contains(p.said(), `"step":"close the store"`) {
					t.Errorf("ended with %v\n%s", p.err, p.said())
				}
				return
			}
			// A call that runs, and has an hour to end.
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			c := &client{url: p.url, http: &http.Client{Transport: transport}}
			s := &scene{name: "long", calls: []object{stream(100_000)}}
			sent := false
			err := c.stream(ctx, "SendStreamingMessage", s.message(), "", func(frame) error {
				if !sent {
					sent = true
					return p.cmd.Process.Signal(signals[0])
				}
				return nil
			})
			if err != nil || !sent {
				t.Errorf("the stream ends with %v, want its end", err)
			}
			if p.dead() {
				t.Error("the call got no grace")
			}
			if p.end(signals[1]); !p.killedBy(signals[1]) {
				t.Errorf("ended with %v, want to be killed by the signal", p.err)
			}
		})
	}
}

func TestCrashVariable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"task.step", "task.step:", "task.step:0", "task.step:x"} {
		p := startProcess(t, text, "--data", t.TempDir())
		p.end(syscall.SIGKILL)
		if p.url != "" || !strings.Contains(p.said(), "write the point and a number") {
			t.Errorf("A2A_SERVER_CRASH_AT=%s is taken:\n%s", text, p.said())
		}
	}
}
