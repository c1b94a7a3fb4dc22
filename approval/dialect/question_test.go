package dialect_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/internal/golden"
	"a2a-server/task"
)

// The engine's interface is met without knowing the engine.
var _ task.Presenter = (*dialect.Presenter)(nil)

// All answers share their metadata: what is appended to them is in one answer only.
func TestSharedMetadata(t *testing.T) {
	t.Parallel()
	p := dialect.New(dialect.Config{})
	first, second := append(p.Metadata(), '1'), append(p.Metadata(), '2')
	if first[len(first)-1] != '1' || second[len(second)-1] != '2' {
		t.Errorf("%s and %s share their ends", first, second)
	}
}

func TestQuestionGolden(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		pending []*approval.Approval
		no      *a2a.Message
	}{
		{"one", []*approval.Approval{transfer()}, nil},
		{"three", all(), nil},
		{"destructive", []*approval.Approval{coded()}, text(t, "yes")},
		{"described", []*approval.Approval{described()}, nil},
		{"question", []*approval.Approval{database()}, text(t, "perhaps")},
		{"equal", []*approval.Approval{transfer(), with(transfer(), func(a *approval.Approval) { a.ID, a.Call, a.Alias = "t1.a2", "c1.2", "" })}, nil},
		{"words", []*approval.Approval{color()}, nil},
		{"elsewhere", []*approval.Approval{with(transfer(), func(a *approval.Approval) {
			a.Terms.FourEyes, a.Terms.Destructive, a.Terms.OnExpiry = true, true, approval.ExpiryCancels
		})}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message, err := presenter().Question(tt.pending, tt.no)
			if err != nil {
				t.Fatalf("Question() = %v", err)
			}
			golden.File(t, filepath.Join("..", "..", "testdata", "questions", tt.name+".json"), string(indented(t, message)))
		})
	}
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is stored are the bytes of the wire; they have to mean the same read back, and
// be the same each time.
func TestQuestionIsPlainJSON(t *testing.T) {
	t.Parallel()
	message, err := presenter().Question(all(), text(t, "perhaps"))
	if err != nil {
		t.Fatalf("Question() = %v", err)
	}
	raw, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var back a2a.Message
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(message, &back); diff != "" {
		t.Errorf("the message read back (-made +read):\n%s", diff)
	}
	again, err := presenter().Question(all(), text(t, "perhaps"))
	if err != nil {
		t.Fatalf("Question() = %v", err)
	}
	if other, err := json.Marshal(again); err != nil || !bytes.Equal(raw, other) {
		t.Errorf("the same question is %s, %v; before %s", other, err, raw)
	}
}

func TestQuestionHidesNothing(t *testing.T) {
	t.Parallel()
	a := transfer()
	a.Tool = "rm\u200b\nArguments: {}"
	a.Hint = "ok\r\nArguments: {\"amount\":1}\n\u202eevil\u2066 \U000E0041\x00"
	a.Args = json.RawMessage(`{"note":"\u202etxt.exe\u0085\u2028\\u202e","long":"` + strings.Repeat("x", 100_000) + `"}`)
	message, err := presenter().Question([]*approval.Approval{a}, text(t, "{bad\u2067"))
	if err != nil {
		t.Fatalf("Question() = %v", err)
	}
	for _, part := range message.Parts {
		for _, r := range part.Text() {
			if r != '\n' && (r < 0x20 || r == 0x85 || r == 0x200B || r >= 0x2028 && r <= 0x2069 || r > 0xE0000) {
				t.Errorf("a text part shows %U as it is", r)
			}
		}
	}
	shown := message.Parts[0].Text()
	var ours []string
	for line := range strings.SplitSeq(shown, "\n") {
		if args, ok := strings.CutPrefix(line, "Arguments: "); ok {
			ours = append(ours, args)
		}
	}
	if len(ours) != 1 {
		t.Fatalf("%d lines of arguments, want 1: %.300q", len(ours), shown)
	}
	var got, want any
	if err := json.Unmarshal([]byte(ours[0]), &got); err != nil {
		t.Fatalf("arguments as shown: %v", err)
	}
	if err := json.Unmarshal(a.Args, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments as shown (-want +got):\n%.500s", diff)
	}
}

func TestQuestionLeavesOut(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*approval.Approval{
		"auth":               with(database(), func(a *approval.Approval) { a.AskKind = "auth" }),
		"call elsewhere":     with(transfer(), func(a *approval.Approval) { a.Terms.Elsewhere = true }),
		"outcome, four eyes": with(deletion(), func(a *approval.Approval) { a.Terms.FourEyes = true }),
	} {
		message, err := presenter().Question([]*approval.Approval{a}, nil)
		if err != nil {
			t.Fatalf("%s: Question() = %v", name, err)
		}
		if len(message.Parts) != 1 || message.Metadata[dialect.KagentURI] != nil || len(message.Extensions) != 1 {
			t.Errorf("%s: a question that the client cannot answer is put to it: %v", name, message)
		}
		if message.Metadata[dialect.URI] == nil {
			t.Errorf("%s: our extension does not show it", name)
		}
	}
}

func TestQuestionErrors(t *testing.T) {
	t.Parallel()
	for name, pending := range map[string][]*approval.Approval{
		"nothing":   nil,
		"arguments": {with(transfer(), func(a *approval.Approval) { a.Args = json.RawMessage(`[1]`) })},
		"payload":   {with(transfer(), func(a *approval.Approval) { a.Payload = json.RawMessage(`{`) })},
		"schema":    {with(database(), func(a *approval.Approval) { a.Schema = json.RawMessage(`{} {}`) })},
	} {
		if m, err := presenter().Question(pending, nil); err == nil {
			t.Errorf("%s: Question() = %v, want an error", name, m)
		}
	}
}

// The text says once with which arguments a call would run, also when the hint that ADK
// and kagent show says it too, and who wants it (C8).
func TestTextSaysThingsOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, hint string
		change     func(*approval.Approval)
		want       string
	}{
		{"its own words", "Pay bob?", nil, "Requested by: anonymous\n> Pay bob?\nArguments: "},
		{"no words of its own", "", nil, "Requested by: anonymous\nArguments: "},
		{"something failed", "", func(a *approval.Approval) { a.Notes = "You are asked because of this." }, "Requested by: anonymous\n> You are asked because of this.\nArguments: "},
		{"no words of its own, masked", "", func(a *approval.Approval) {
			a.Terms.Mask = []string{"/to"}
		}, "Requested by: anonymous\nArguments: {\"amount\":100,\"to\":\"bob\"}"},
		{"through others", "", func(a *approval.Approval) {
			a.Requester = auth.Principal{Subject: "alice\u202e", Chain: []string{"desk", "agent"}}
		}, `Requested by: alice\u202e, through desk, through agent` + "\nArguments: "},
		{"nobody is known", "", func(a *approval.Approval) { a.Requester = auth.Principal{} }, "may transfer_money run?\nArguments: "},
	} {
		a := with(transfer(), func(a *approval.Approval) { a.Hint = tt.hint })
		if tt.change != nil {
			tt.change(a)
		}
		m, err := presenter().Question([]*approval.Approval{a}, nil)
		if err != nil {
			t.Fatalf("%s: Question() = %v", tt.name, err)
		}
		text := m.Parts[0].Text()
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: the text is %q, want %q in it", tt.name, text, tt.want)
		}
		if n := strings.Count(text, `{"amount":100,"to":"bob"}`); n != 1 {
			t.Errorf("%s: the arguments stand %d times in %q", tt.name, n, text)
		}
	}
}

// Programs are told all who act for whoever asks; people are told the first of many.
func TestQuestionSaysThroughWhom(t *testing.T) {
	t.Parallel()
	chain := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}
	a := with(transfer(), func(a *approval.Approval) { a.Requester = auth.Principal{Subject: "alice", Chain: chain} })
	m, err := presenter().Question([]*approval.Approval{a}, nil)
	if err != nil {
		t.Fatalf("Question() = %v", err)
	}
	const want = "Requested by: alice, through 1, through 2, through 3, through 4, through 5, through 6, through 7, through 8 and 2 more\n"
	if text := m.Parts[0].Text(); !strings.Contains(text, want) {
		t.Errorf("the text is %q, want %q in it", text, want)
	}
	raw, err := json.Marshal(m.Metadata[dialect.URI])
	if err != nil {
		t.Fatal(err)
	}
	var asked struct {
		Approvals []struct {
			RequestedBy      string
			RequestedThrough []string
		}
	}
	if err := json.Unmarshal(raw, &asked); err != nil || len(asked.Approvals) != 1 {
		t.Fatalf("the question is %s, %v", raw, err)
	}
	if got := asked.Approvals[0]; got.RequestedBy != "alice" || !slices.Equal(got.RequestedThrough, chain) {
		t.Errorf("asked by %q through %q, want alice through %q", got.RequestedBy, got.RequestedThrough, chain)
	}
}

// The confirmations of adk-rs are those that its client may answer by the id of the call: no
// outcomes, questions and approvals of others, and no id that two approvals share.
func TestRequestedToolConfirmations(t *testing.T) {
	t.Parallel()
	again := with(restarts(), func(a *approval.Approval) { a.Call, a.Alias = "c1.1", "adk-961c85e9" })
	elsewhere := with(restarts(), func(a *approval.Approval) { a.Terms.FourEyes = true })
	for name, tc := range map[string]struct {
		pending []*approval.Approval
		want    string
	}{
		"a call":       {[]*approval.Approval{transfer()}, "adk-961c85e9"},
		"two calls":    {[]*approval.Approval{transfer(), restarts()}, "adk-961c85e9 c1.4"},
		"other kinds":  {[]*approval.Approval{transfer(), deletion(), database()}, "adk-961c85e9"},
		"elsewhere":    {[]*approval.Approval{transfer(), elsewhere}, "adk-961c85e9"},
		"none":         {[]*approval.Approval{elsewhere, database()}, ""},
		"the same id":  {[]*approval.Approval{transfer(), again, restarts()}, "c1.4"},
		"only one id":  {[]*approval.Approval{transfer(), again}, ""},
		"thrice an id": {[]*approval.Approval{transfer(), again, again}, ""},
	} {
		var m struct {
			Metadata struct {
				Actions *struct {
					Confirmations map[string]struct{ Confirmed bool } `json:"requested_tool_confirmations"`
				} `json:"adk_actions"`
			}
		}
		message, err := presenter().Question(tc.pending, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(indented(t, message), &m); err != nil {
			t.Fatal(err)
		}
		var ids []string
		if m.Metadata.Actions != nil {
			for id := range m.Metadata.Actions.Confirmations {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != tc.want {
			t.Errorf("%s: confirmations of %q are requested, want %q", name, got, tc.want)
		}
	}
}
