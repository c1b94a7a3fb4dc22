package script_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/internal/golden"
	"a2a-server/task"
)

// TestConformance plays every scenario of testdata/conformance.yaml and compares
// what it plans, step by step, with testdata/played.
func TestConformance(t *testing.T) {
	t.Parallel()
	withData := func(m *a2a.Message, data any) *a2a.Message {
		m.Parts = append(m.Parts, a2a.NewDataPart(data))
		return m
	}
	tests := []struct {
		name    string
		first   *a2a.Message
		answers []*a2a.Message
	}{
		{"direct-message", message("kit-message-1", "hello", "you"), nil},
		{"refused", message("kit-refused-1", "that"), nil},
		{"published", message("kit-artifacts-1", "hi {message_id} <>"), nil},
		{"calls", message("kit-calls-1", `say "hi"`), nil},
		{"waits", message("kit-wait-1", "hi"), nil},
		{"asks", message("kit-ask-1", "hi"), []*a2a.Message{message("m2", "red"), message("m3", "token")}},
		{"asks-and-stops", message("kit-ask-1", "hi"), []*a2a.Message{message("m2", "stop")}},
		{"rejects", message("kit-reject-1", "hi"), nil},
		{"cancels", message("kit-cancel-1"), nil},
		{"breaks", message("kit-break-1", "pump"), nil},
		{"exact-text", message("m1", "hello", "world"), nil},
		{"some-text", message("m1", "hello world"), nil},
		{"some-data", withData(message("m1", "x"), map[string]any{"kind": "order", "total": 3.0, "more": 1, "lines": []any{map[string]any{"item": "pen", "n": 2}}}), nil},
		{"no-scenario", message("m1", "stop"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := play(t, conformance(t), tt.first, tt.answers...)
			if r.direct != nil {
				if r.direct.ID == "" {
					t.Error("the direct message has no id")
				}
				r.direct.ID = "" // at random
			}
			got := struct {
				Direct *a2a.Message `json:",omitempty"`
				Error  string       `json:",omitempty"`
				Steps  []*task.Step `json:",omitempty"`
			}{Direct: r.direct, Steps: r.steps}
			if r.err != nil {
				got.Error = r.err.Error()
			}
			text, err := json.MarshalIndent(got, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, filepath.Join("testdata", "played", tt.name+".json"), string(text)+"\n")
		})
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	p := load(t, `
scenarios:
  - {name: asks, when: {text: ask me}, steps: [{ask: what?}]}
  - {name: id-and-text, when: {message_id_prefix: a-, text_contains: x}, steps: [{complete: one}]}
  - {name: number, when: {data: {n: 1}}, steps: [{complete: two}]}
  - {name: large, when: {data: {n: 9007199254740993}}, steps: [{complete: three}]}
  - {name: list, when: {data: [1, {a: null}]}, steps: [{complete: four}]}
  - {name: scalar, when: {data: word}, steps: [{complete: five}]}
  - {name: answer, when: {follow_up: true}, steps: [{complete: six}]}
  - {name: empty, when: {text: ""}, steps: [{complete: seven}]}
  - {name: any, steps: [{complete: eight}]}
`)
	data := func(s string) *a2a.Message {
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Fatal(err)
		}
		m := message("d", "-")
		m.Parts = append(m.Parts, nil, a2a.NewRawPart([]byte("x")), a2a.NewDataPart(v))
		return m
	}
	raw := func(s string) *a2a.Message {
		m := message("d", "-")
		m.Parts = append(m.Parts, a2a.NewDataPart(json.RawMessage(s)))
		return m
	}
	broken := message("d", "-")
	broken.Parts = append(broken.Parts, a2a.NewDataPart(func() {}))
	tests := []struct {
		name    string
		message *a2a.Message
		want    string
	}{
		{"id and text", message("a-1", "a x"), "one"},
		{"only the id", message("a-1", "a"), "eight"},
		{"only the text", message("b-1", "x"), "eight"},
		{"number", data(`{"n":1.0,"m":2}`), "two"},
		{"number, written otherwise", raw(`{"n":1.00}`), "two"},
		{"another number", data(`{"n":2}`), "eight"},
		{"not a number", data(`{"n":"1"}`), "eight"},
		{"a number beyond floats", raw(`{"n":9007199254740993}`), "three"},
		{"its neighbour", raw(`{"n":9007199254740992}`), "eight"},
		{"list", data(`[1,{"a":null,"b":2}]`), "four"},
		{"longer list", data(`[1,{"a":null},3]`), "eight"},
		{"list without the member", data(`[1,{"b":2}]`), "eight"},
		{"no list", data(`{"0":1}`), "eight"},
		{"scalar", data(`"word"`), "five"},
		{"not JSON", broken, "eight"},
		{"no text", message("c"), "seven"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := play(t, p, tt.message)
			if r.err != nil || r.direct != nil {
				t.Fatalf("played %v, %v, want a task", r.direct, r.err)
			}
			if got := r.last().End.Message.Parts[0].Text(); got != tt.want {
				t.Errorf("played %s, want %s", got, tt.want)
			}
		})
	}
}

// TestManyChunks shows that what is long becomes several steps, without a gap.
func TestManyChunks(t *testing.T) {
	t.Parallel()
	p := load(t, `
scenarios:
  - name: a
    steps:
      - status: go
      - chunks: {id: x, name: X, count: 10000, text: "{n} "}
      - chunks: {id: y, texts: ["{text}", "{text}", "{text}"]}
      - status: end
`)
	r := play(t, p, message("m1", strings.Repeat("x", 300<<10)))
	if r.err != nil {
		t.Fatal(r.err)
	}
	if got := len(r.steps); got != 11 {
		t.Errorf("%d steps, want 11", got)
	}
	var pieces []*task.ArtifactPiece
	outputs := 0
	for _, s := range r.steps {
		if len(s.Output) > 1024 {
			t.Errorf("a step has %d outputs, want at most 1024", len(s.Output))
		}
		outputs += len(s.Output)
		for _, o := range s.Output {
			if o.Artifact != nil {
				pieces = append(pieces, o.Artifact)
			}
		}
	}
	if outputs != 10005 || len(pieces) != 10003 {
		t.Fatalf("%d outputs and %d pieces, want 10005 and 10003", outputs, len(pieces))
	}
	for i, piece := range pieces[:10000] {
		want := task.ArtifactPiece{ID: "x", Parts: a2a.ContentParts{a2a.NewTextPart(fmt.Sprintf("%d ", i+1))}, Append: i > 0, Last: i == 9999}
		if i == 0 {
			want.Name = "X"
		}
		if diff := cmp.Diff(want, *piece); diff != "" {
			t.Fatalf("piece %d (-want +got):\n%s", i, diff)
		}
	}
	for i, piece := range pieces[10000:] {
		if piece.ID != "y" || piece.Append != (i > 0) || piece.Last != (i == 2) {
			t.Errorf("piece %d of y = %s, %t, %t", i, piece.ID, piece.Append, piece.Last)
		}
	}
}

func TestTooMuch(t *testing.T) {
	t.Parallel()
	twenty := strings.Repeat("{text}", 20)
	p := load(t, fmt.Sprintf(`
scenarios:
  - {name: direct, when: {message_id_prefix: d}, steps: [{message: "%[1]s"}]}
  - {name: refused, when: {message_id_prefix: r}, steps: [{error: "%[1]s"}]}
  - {name: broken, when: {message_id_prefix: b}, steps: [{wait: 1s}, {error: "%[1]s"}]}
  - {name: task, steps: [{call: {tool: a, args: {a: "%[1]s"}}}]}
`, twenty))
	for _, id := range []string{"d", "r", "b", "t"} {
		r := play(t, p, message(id, strings.Repeat("x", 1<<20)))
		if r.err == nil || !strings.Contains(r.err.Error(), "the output of one step exceeds 16777216 bytes") {
			t.Errorf("played %q = %v, want that it is too much", id, r.err)
		}
	}
}

// TestChangedScript shows what becomes of a task whose file has changed meanwhile.
func TestChangedScript(t *testing.T) {
	t.Parallel()
	p := load(t, `
scenarios:
  - {name: task, when: {text: go}, steps: [{status: a}, {complete: b}]}
  - {name: direct, when: {text: hi}, steps: [{message: hi}]}
  - {name: chunks, when: {text: chunks}, steps: [{chunks: {id: a, texts: [a]}}, {chunks: {id: b, texts: [b]}}]}
`)
	tests := []struct{ name, text, state, want string }{
		{"shorter than it was", "go", `{"scenario":"task","next":7}`, "completed"},
		{"fewer pieces than there were", "chunks", `{"scenario":"chunks","next":0,"chunk":5}`, "b completed"},
		{"its scenario has gone", "go", `{"scenario":"old","next":1}`, `plan task t1: its scenario "old" is not in the script any more`},
		{"impossible", "go", `{"scenario":"task","next":-1}`, "plan task t1: its scenario cannot be at step -1, piece 0"},
		{"no state", "go", "", "plan task t1: read where its scenario is: unexpected end of JSON input"},
		{"nothing fits", "other", "none", "plan task t1: no scenario fits its message any more"},
		{"direct now", "hi", "none", `scenario "direct": step 1: a direct message has no place in a task; the script has changed since the message was accepted`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, p, message("m1", tt.text))
			if tt.state != "none" {
				r.progress.Steps = []task.DoneStep{{State: json.RawMessage(tt.state)}}
			}
			r.next()
			got := ""
			if r.err != nil {
				got = r.err.Error()
			} else {
				for _, o := range r.last().Output {
					got += o.Artifact.ID + " "
				}
				if r.last().End.State == a2a.TaskStateCompleted {
					got += "completed"
				}
			}
			if got != tt.want {
				t.Errorf("Plan() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestNoMessage(t *testing.T) {
	t.Parallel()
	p := conformance(t)
	if _, err := p.Accept(nil, &task.Request{}); err == nil || err.Error() != "the request has no message" {
		t.Errorf("Accept() = %v, want that the message is missing", err)
	}
	for _, messages := range [][]task.PlannerMessage{nil, {{}}} {
		if _, err := p.Plan(t.Context(), &task.Progress{Task: "t1", Messages: messages}); err == nil || err.Error() != "plan task t1: it has no message" {
			t.Errorf("Plan() = %v, want that the message is missing", err)
		}
	}
	if !p.Inline() {
		t.Error("Inline() = false, want true")
	}
}

// TestFollowUp shows that an answer which fits no follow-up continues with the scenario
// that asked, and that a follow-up can ask again.
func TestFollowUp(t *testing.T) {
	t.Parallel()
	p := load(t, `
scenarios:
  - name: quiz
    steps:
      - ask: first?
      - ask: second?
      - complete: "last was {text}"
  - name: repeat
    when: {follow_up: true, text: again}
    steps: [{ask: "from {message_id}?"}]
`)
	r := play(t, p, message("m1", "again"), message("m2", "a"), message("m3", "again"), message("m4", "again"), message("m5", "b"))
	if r.err != nil {
		t.Fatal(r.err)
	}
	var got []string
	ids := map[string]bool{}
	for _, s := range r.steps {
		m := &a2a.Message{}
		switch {
		case s.Ask != nil:
			m = s.Ask.Message
		case s.End.Message != nil:
			m = s.End.Message
		}
		if len(m.Parts) > 0 {
			got = append(got, m.Parts[0].Text())
			ids[m.ID] = true
		}
	}
	// The repeat takes over for good: when it runs out, the task is complete.
	if diff := cmp.Diff([]string{"first?", "second?", "from m3?", "from m4?"}, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if len(ids) != len(got) {
		t.Errorf("%d messages have %d ids", len(got), len(ids))
	}
	if r.last().End.State != a2a.TaskStateCompleted {
		t.Errorf("ended %s, want completed", r.last().End.State)
	}
}
