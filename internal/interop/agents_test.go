package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A talker is a program that talks with a server through somebody's framework of
// agents. It reads turns of a person, a line each, and answers each with what the
// framework shows, as JSON.
type talker struct {
	name    string
	command []string
	ways    []string // in which it can hold a conversation
	types   bool     // what its person types reaches the task that waits
	card    string   // the configuration of the agent card that it can read
}

// testAgents has each framework ask for transfers, and approve and reject them.
func testAgents(t *testing.T, p programs) {
	for _, a := range []talker{
		{name: "google-adk", command: []string{p.python["google-adk"], "python/google-adk/drive.py"}, ways: []string{"remote", "model"}, card: "{grpc: false}"},
		{name: "agent-framework", command: []string{p.python["agent-framework"], "python/agent-framework/drive.py"}, ways: []string{"url", "card"}, types: true, card: "{}"},
		{name: "adk-go", command: []string{p.adkgo}, ways: []string{"whole", "stream"}, card: "{}"},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			config, key := secured(t, p, "card: "+a.card)
			tape, s := recorded(t, p, "--config", config)
			tape.key = key // most frameworks read the card without credentials
			turn := a.start(t, tape.url)
			for _, way := range a.ways {
				for _, c := range conversations {
					if !c.typed || a.types {
						a.hold(t, tape, s, turn, way, c)
					}
				}
			}
		})
	}
}

// secured returns the configuration of a server that serves gRPC, too, and wants a key, with the
// key of a requester.
func secured(t *testing.T, p programs, more string) (config, key string) {
	t.Helper()
	folder := t.TempDir()
	keys, config := filepath.Join(folder, "keys.yaml"), filepath.Join(folder, "config.yaml")
	key = addKey(t, p, keys, "person")
	text := fmt.Sprintf("auth: {keys: {file: %q}}\ngrpc: {listen: \"127.0.0.1:0\"}\n%s\n", keys, more)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config, key
}

// hold holds a conversation, and compares its transcript and what was transferred.
func (a talker) hold(t *testing.T, tp *tape, s *server, turn func(any) json.RawMessage, way string, c conversation) {
	t.Helper()
	before := len(s.transfers(t))
	tr := &transcript{tape: tp}
	shown := turn(map[string]any{"start": way})
	if string(shown) != "[]" {
		tr.shows(t, shown)
	}
	for _, step := range c.turns {
		if step.copies {
			step.Say = []string{ready(t, shown)}
		}
		if step.refuses {
			step.Say = []string{rejection(t, shown)}
		}
		tr.person(step.String())
		shown = turn(step)
		tr.wire(t)
		tr.shows(t, shown)
	}
	tr.check(t, a.name, c.name+"-"+way)
	if diff := cmp.Diff(c.runs, s.transfers(t)[before:], cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s, %s: transfers (-want +got):\n%s", c.name, way, diff)
	}
}

// A step is a turn of the person.
type step struct {
	Say    []string `json:"say,omitempty"`
	Answer []bool   `json:"answer,omitempty"`
	copies bool     // it says the decision that the question has ready

	refuses bool // it says the word that rejects, as the question has it
}

// String returns what the person does.
func (s step) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts and truth values can be written
	}
	return string(raw)
}

// A conversation is what a person does, and what comes of it.
type conversation struct {
	name  string
	turns []step
	runs  []transfer
	typed bool // by a person who can only type
}

// conversations are what every framework has to be able to do.
var conversations = []conversation{
	{
		name:  "approve",
		turns: []step{{Say: []string{"/transfer_money amount=12.5 to=Zoë"}}, {Answer: []bool{true}}},
		runs:  []transfer{{12.5, "Zoë"}},
	},
	{
		name:  "reject",
		turns: []step{{Say: []string{"/transfer_money amount=9 to=nobody"}}, {Answer: []bool{false}}},
		runs:  []transfer{},
	},
	{
		name:  "two",
		turns: []step{{Say: []string{"/transfer_money amount=1 to=rent", "/transfer_money amount=2 to=bills"}}, {Answer: []bool{true, false}}},
		runs:  []transfer{{1, "rent"}},
	},
	{
		name:  "typed",
		turns: []step{{Say: []string{"/transfer_money amount=3 to=typist"}}, {copies: true}},
		runs:  []transfer{{3, "typist"}},
		typed: true,
	},
}

// rejection returns the word that rejects the call of a question.
func rejection(t *testing.T, shown json.RawMessage) string {
	t.Helper()
	for text := range textsIn(decodeAny(t, shown)) {
		_, after, _ := strings.Cut(text, `to reject, type "`)
		if word, _, ok := strings.Cut(after, `"`); ok {
			return word
		}
	}
	t.Fatalf("no word rejects in %s", shown)
	return ""
}

// ready returns the decision that a question has ready to be copied.
func ready(t *testing.T, shown json.RawMessage) string {
	t.Helper()
	for text := range textsIn(decodeAny(t, shown)) {
		_, after, _ := strings.Cut(text, "Answer with JSON such as ")
		if decision, _, ok := strings.Cut(after, " in a data part"); ok {
			return decision
		}
	}
	t.Fatalf("no decision is ready in %s", shown)
	return ""
}

// textsIn yields all texts in a value.
func textsIn(v any) iter.Seq[string] {
	return func(yield func(string) bool) {
		var walk func(any) bool
		walk = func(v any) bool {
			switch v := v.(type) {
			case string:
				return yield(v)
			case []any:
				for _, element := range v {
					if !walk(element) {
						return false
					}
				}
			case map[string]any:
				for _, key := range slices.Sorted(maps.Keys(v)) {
					if !walk(v[key]) {
						return false
					}
				}
			}
			return true
		}
		walk(v)
	}
}

// start starts the program with further arguments, and returns what makes a turn of it. The program must end
// well when the test ends.
func (a talker) start(t *testing.T, args ...string) (turn func(any) json.RawMessage) {
	t.Helper()
	// The program ends after the test, so not with its context.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute)
	cmd := exec.CommandContext(ctx, a.command[0], append(slices.Clone(a.command[1:]), args...)...)
	cmd.Env = quiet(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		if err := stdin.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v:\n%s", a.name, err, stderr.String())
		}
	})
	lines, shown := json.NewEncoder(stdin), json.NewDecoder(stdout)
	return func(step any) json.RawMessage {
		t.Helper()
		var value json.RawMessage
		err := lines.Encode(step)
		if err == nil {
			err = shown.Decode(&value)
		}
		if err != nil {
			t.Fatalf("after %v %s says nothing: %v", step, a.name, err)
		}
		return value
	}
}

// quiet is the environment of programs in Python: they leave nothing behind, and ask
// nobody outside.
func quiet(t *testing.T, more ...string) []string {
	folder := t.TempDir()
	return append(append(os.Environ(), "TMPDIR="+folder, "HOME="+folder, "PYTHONWARNINGS=ignore", "PYTHONUTF8=1", "OTEL_SDK_DISABLED=true"), more...)
}
