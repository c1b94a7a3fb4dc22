//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A hangup reloads the configuration; a wrong one changes nothing, and neither ends the
// process.
func TestHangup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("tools: [{command: one, description: x, run: [\"true\"]}]\n")
	p := startProcess(t, "", "--data", t.TempDir(), "--config", file)
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	if p.url == "" {
		t.Fatalf("the server does not start: %v\n%s", p.err, p.said())
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	skill := func() string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/.well-known/agent-card.json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var card struct{ Skills []struct{ ID string } }
		if err := json.NewDecoder(resp.Body).Decode(&card); err != nil || len(card.Skills) != 1 {
			t.Fatalf("the card: %v, %+v", err, card)
		}
		return card.Skills[0].ID
	}
	says := func(text string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !strings.Contains(p.said(), text); {
			if p.dead() || time.Now().After(deadline) {
				t.Fatalf("the log has no %q: %s", text, p.said())
			}
			_ = skill() // it takes a moment
		}
	}
	write("tools: [{command: two}]\n")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	says("the configuration was not reloaded and stays as it was; keys and certificates are reloaded separately")
	if got := skill(); got != "one" {
		t.Errorf("after a reload that failed the skill is %s", got)
	}
	write("tools: [{command: two, description: x, run: [\"true\"]}]\n")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	says("the tools, secrets and gates of the configuration were reloaded")
	if got := skill(); got != "two" {
		t.Errorf("after a reload the skill is %s", got)
	}
	if strings.Contains(p.said(), `"level":"debug"`) {
		t.Errorf("the log has lines of debug: %s", p.said())
	}
	write("log: {level: debug}\ntools: [{command: two, description: x, run: [\"true\"]}]\n")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	says(`"level":"debug"`)
	if strings.Contains(p.said(), "when the server is restarted") {
		t.Errorf("log.level needs a restart: %s", p.said())
	}
	if p.end(syscall.SIGTERM); p.err != nil {
		t.Errorf("ended with %v\n%s", p.err, p.said())
	}
}
