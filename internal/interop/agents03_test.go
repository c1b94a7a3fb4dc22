package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A talker03 is a talker whose client speaks A2A 0.3 only.
type talker03 struct {
	talker
	streams []string       // those of its ways that follow streams
	keyless bool           // it has no way to send a key
	holds   []conversation // what it is able to do
}

// testAgents03 has frameworks that speak A2A 0.3 only talk with a server that wants an API
// key: they read the card, call a tool, follow a stream, and ask for transfers, which are
// approved and rejected as far as each of them can answer. One that cannot send a key is
// refused, and talks with a server that wants none.
func testAgents03(t *testing.T, p programs) {
	python := func(name string, ways ...string) talker {
		return talker{name: name, command: []string{p.python[name], "python/" + name + "/drive.py"}, ways: ways}
	}
	node := func(name, script string, ways ...string) talker {
		return talker{name: name, command: []string{p.node, filepath.Join(p.js03, script)}, ways: ways}
	}
	for _, a := range []talker03{
		{
			talker: python("beeai", "stream", "whole"), streams: []string{"stream"},
			holds: []conversation{bankHello, bankApproves, bankRejects, bankBoth, bankTyped, bankTypedNo},
		},
		// The model of its agent answers, in words.
		{talker: python("crewai", "stream"), streams: []string{"stream"}, holds: []conversation{bankHello, bankTyped, bankTypedNo, bankTypedBoth}},
		// These two send every message without a task, so that no answer reaches one.
		{talker: python("strands", "whole", "stream", "tool"), streams: []string{"whole", "stream"}, holds: []conversation{bankHello, bankUnanswered}},
		{
			talker: node("a2a-ai-provider", "provider.mjs", "generate", "stream"), streams: []string{"stream"}, keyless: true,
			holds: []conversation{bankHello, bankUnanswered},
		},
		{
			talker: node("adk-js", "adk.mjs", "remote", "model"), streams: []string{"remote", "model"},
			holds: []conversation{bankHello, bankApproves, bankRejects, bankBoth},
		},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			tape, s, key := startBank(t, p, !a.keyless)
			turn := a.start(t, tape.url, key)
			for _, way := range a.ways {
				for _, c := range a.holds {
					a.hold(t, tape, s, turn, way, c)
				}
			}
			for _, way := range a.streams {
				a.follows(t, tape, turn, way)
			}
			if tape.cards.Load() == 0 {
				t.Error("it has not read the agent card")
			}
			if a.keyless {
				tape, s, _ := startBank(t, p, true)
				turn := a.start(t, tape.url)
				for _, way := range a.ways {
					a.hold(t, tape, s, turn, way, conversation{name: "refused", turns: bankHello.turns})
				}
			}
		})
	}
}

// startBank starts the server that understands phrases, with a tape in front of it. If keyed, it wants an
// API key; key is one.
func startBank(t *testing.T, p programs, keyed bool) (tp *tape, s *server, key string) {
	t.Helper()
	folder := t.TempDir()
	text := ""
	if keyed {
		file := filepath.Join(folder, "keys.yaml")
		key = addKey(t, p, file, "teller")
		text = fmt.Sprintf("auth: {keys: {file: %q}}\n", file)
	}
	config := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.server = p.phrases
	tp, s = recorded(t, p, "--config", config)
	return tp, s, key
}

// addKey adds the API key of a requester to a file, and returns it.
func addKey(t *testing.T, p programs, file, id string, flags ...string) string {
	t.Helper()
	ctx, cancel := deadline(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.server, append([]string{"keys", "add", id, "--role", "requester", "--file", file}, flags...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return strings.TrimSpace(string(out))
}

// follows checks that a stream reaches whoever follows it. Where its text is cut depends
// on the time, so there is no transcript.
func (a talker03) follows(t *testing.T, tp *tape, turn func(any) json.RawMessage, way string) {
	t.Helper()
	turn(map[string]any{"start": way})
	tp.take()
	shown := turn(step{Say: []string{"tell a story"}})
	chunks := 0
	for _, e := range tp.take() {
		if bytes.Contains(e.asked, []byte(`"message/stream"`)) && strings.HasPrefix(e.kind, "text/event-stream") {
			chunks += bytes.Count(e.answered.Bytes(), []byte(`"artifact-update"`))
		}
	}
	if chunks < 3 {
		t.Errorf("%s: %d chunks went over the wire, want 3 or more", way, chunks)
	}
	var said strings.Builder
	for text := range textsIn(decodeAny(t, shown)) {
		said.WriteString(strings.ReplaceAll(text, " ", ""))
	}
	if !strings.Contains(said.String(), "everyeventisonthedi") {
		t.Errorf("%s: it shows %s, want the text of the stream in it", way, shown)
	}
}

// Conversations in the phrases of the server.
var (
	bankRent = step{Say: []string{"pay the rent"}}
	bankPaid = []transfer{{900, "landlord"}}

	bankHello    = conversation{name: "call", turns: []step{{Say: []string{"say hello"}}}}
	bankApproves = conversation{name: "approve", turns: []step{bankRent, {Answer: []bool{true}}}, runs: bankPaid}
	bankRejects  = conversation{name: "reject", turns: []step{bankRent, {Answer: []bool{false}}}}
	bankBoth     = conversation{
		name:  "two",
		turns: []step{{Say: []string{"pay both bills"}}, {Answer: []bool{true, false}}},
		runs:  []transfer{{60, "power"}},
	}
	bankTyped     = conversation{name: "typed-approve", turns: []step{bankRent, {Say: []string{"yes"}}, {copies: true}}, runs: bankPaid}
	bankTypedNo   = conversation{name: "typed-reject", turns: []step{bankRent, {Say: []string{"reject"}}}}
	bankTypedBoth = conversation{
		name:  "typed-two",
		turns: []step{{Say: []string{"pay both bills"}}, {copies: true}, {refuses: true}},
		runs:  []transfer{{60, "power"}},
	}
	// The answer is a message like any other to the client, and to the server.
	bankUnanswered = conversation{name: "unanswered", turns: []step{bankRent, {Say: []string{"yes"}}}}
)
