//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
)

// A hangup reloads the configuration; a wrong one changes nothing, and neither ends the
// process.
func TestHangup(t *testing.T) {
	t.Parallel()
	const one, two = "tools: [{command: one, description: x, run: [\"true\"]}]\n", "tools: [{command: two, description: x, run: [\"true\"]}]\n"
	s := newSite(t, one)
	p := s.start("")
	has := func(skill string) {
		t.Helper()
		resp, err := p.client.Get(p.url + "/.well-known/agent-card.json") //nolint:noctx // bounded by the client
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var card struct{ Skills []struct{ ID string } }
		if err := json.NewDecoder(resp.Body).Decode(&card); err != nil || len(card.Skills) != 1 || card.Skills[0].ID != skill {
			t.Errorf("the card: %v, %+v, want the skill %s", err, card, skill)
		}
	}
	s.configure("tools: [{command: two}]\n")
	p.hangup(notReloaded, 1)
	has("one")
	s.configure(two)
	p.hangup("the tools, secrets and gates of the configuration were reloaded", 1)
	has("two")
	if strings.Contains(p.said(), `"level":"debug"`) {
		t.Errorf("the log has lines of debug: %s", p.said())
	}
	s.configure("log: {level: debug}\n" + two)
	p.hangup(`"level":"debug"`, 1)
	if strings.Contains(p.said(), "when the server is restarted") {
		t.Errorf("log.level needs a restart: %s", p.said())
	}
	if p.end(syscall.SIGTERM); p.err != nil {
		t.Errorf("ended with %v\n%s", p.err, p.said())
	}
}
