package event

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"a2a-server/internal/strictjson"
	"a2a-server/task/internal/event/eventtest"
)

func TestParseArtifact(t *testing.T) {
	t.Parallel()
	for i, a := range eventtest.Artifacts() {
		// Every artifact with half of the metadata, and with one pair of flags.
		for _, metadata := range eventtest.Metadata()[i%2*2:][:2] {
			want, data := sdkArtifact(t, "t", "ü<", a, i/4%2 == 0, i/8%2 == 0, metadata)
			got, ok := parseArtifact([]byte(data))
			if !ok {
				t.Fatalf("parseArtifact(%s) refused it", data)
			}
			if diff := cmp.Diff(want, &got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("parseArtifact(%s) (-want +got):\n%s", data, diff)
			}
			decoded, err := decodeArtifact([]byte(data))
			if err != nil {
				t.Fatalf("decodeArtifact(%s): %v", data, err)
			}
			if diff := cmp.Diff(got, decoded, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("decodeArtifact(%s) (-parsed +decoded):\n%s", data, diff)
			}
		}
	}
}

// TestParseArtifactRefuses has events that the scanner leaves to encoding/json;
// some of them are valid.
func TestParseArtifactRefuses(t *testing.T) {
	t.Parallel()
	const plain = `{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"x"}]},"contextId":"c","taskId":"t"}}`
	if _, ok := parseArtifact([]byte(plain)); !ok {
		t.Fatalf("parseArtifact(%s) refused it", plain)
	}
	in := func(old, replacement string) string { return strings.Replace(plain, old, replacement, 1) }
	for name, tt := range map[string]struct {
		data  string
		right bool
	}{
		"empty":              {"", false},
		"cut":                {plain[:len(plain)-1], false},
		"something after it": {plain + "{}", false},
		"a space":            {in(`"parts":[`, `"parts": [`), true},
		"another order":      {in(`"contextId":"c","taskId":"t"`, `"taskId":"t","contextId":"c"`), true},
		"append false":       {in(`"artifact":{`, `"append":false,"artifact":{`), true},
		"parts null":         {in(`[{"text":"x"}]`, `null`), true},
		"raw <":              {in(`x`, `<`), true},
		"raw U+2028":         {in(`x`, "\u2028"), true},
		"control":            {in(`x`, "\n"), false},
		"escape":             {in(`x`, `\x`), false},
		"short escape":       {in(`x`, `\u12`), false},
		"number":             {in(`{"text":"x"}`, `01`), false},
		"no digits":          {in(`{"text":"x"}`, `1.`), false},
		"no exponent":        {in(`{"text":"x"}`, `1e+`), false},
		"comma":              {in(`{"text":"x"}`, `{"text":"x",}`), false},
		"word":               {in(`{"text":"x"}`, `nul`), false},
		"no artifact":        {`{"artifactUpdate":{"contextId":"c"}}`, false},
		"another event":      {`{"statusUpdate":{}}`, false},
		"deep":               {in(`{"text":"x"}`, strings.Repeat("[", 100)+strings.Repeat("]", 100)), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if u, ok := parseArtifact([]byte(tt.data)); ok {
				t.Errorf("parseArtifact(%s) = %v, want it refused", tt.data, u)
			}
			if u, err := decodeArtifact([]byte(tt.data)); (err == nil) != tt.right {
				t.Errorf("decodeArtifact(%s) = %v, %v; want it read: %v", tt.data, u, err, tt.right)
			}
		})
	}
}

func TestDecodeArtifactCompacts(t *testing.T) {
	t.Parallel()
	got, err := decodeArtifact([]byte(`{ "artifactUpdate" : {"artifact": {"parts": [ {"text": "<"} , {"data" : 1} ],
		"metadata": {"a" : 1}, "extensions": [ "x" ], "artifactId": "a"}, "metadata": { } } }`))
	if err != nil {
		t.Fatal(err)
	}
	want := ArtifactUpdate{
		ID: "a", Metadata: []byte(`{"a":1}`), Extensions: []byte(`["x"]`),
		Parts: []byte(`{"text":"\u003c"},{"data":1}`), EventMetadata: []byte(`{}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decodeArtifact() (-want +got):\n%s", diff)
	}
}

func FuzzParseArtifact(f *testing.F) {
	for _, a := range eventtest.Artifacts() {
		_, data := sdkArtifact(f, "t", "c", a, true /* appends */, true /* last */, eventtest.Metadata()[2])
		f.Add([]byte(data))
	}
	f.Add([]byte(`{"artifactUpdate":{"artifact":{"artifactId":"\ud800\/","metadata":null,"parts":[-0.0e+1,[],{},null]},"contextId":"","taskId":"","metadata":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := parseArtifact(data)
		if !ok {
			return
		}
		want, err := decodeArtifact(data)
		if err != nil {
			t.Fatalf("parseArtifact(%s) accepted what is wrong: %v", data, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("parseArtifact(%s) (-want +got):\n%s", data, diff)
		}
	})
}

func BenchmarkParseArtifact(b *testing.B) {
	data := EncodeArtifact(NewIDs("0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908", "0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1909"),
		&ArtifactUpdate{ID: "output", Parts: TextPart(benchmarkText()), Append: true})
	b.ReportAllocs()
	for b.Loop() {
		parseArtifact(data)
	}
}

// What parseTask and parseStatus read is what decodeTask and decodeStatus read.
func FuzzParseStatus(f *testing.F) {
	ids := NewIDs("t", "<c>")
	for _, message := range []json.RawMessage{nil, json.RawMessage(`{"messageId":"m","parts":[{"text":"\u003c"}],"role":"ROLE_AGENT"}`)} {
		for _, metadata := range []json.RawMessage{nil, json.RawMessage(`{"a":{"b":[1,2]}}`)} {
			f.Add(AppendStatusUpdate(nil, ids, a2a.TaskStateInputRequired, 1_792_000_000_123, message, metadata))
		}
	}
	f.Add(AppendStatusUpdate(nil, ids, a2a.TaskStateWorking, 0, nil, nil))
	f.Add(AppendTask(nil, ids, a2a.TaskStateSubmitted, 1, json.RawMessage(`{"a":1}`)))
	f.Add(AppendTask(nil, ids, a2a.TaskStateSubmitted, 0, nil))
	f.Add([]byte(`{"task":{"id":"","contextId":"","status":{"state":"TASK_STATE_UNSPECIFIED"}}}`))
	f.Add([]byte(`{"task":{"id":"","contextId":"","status":{"state":"x","timestamp":"2026-01-01T00:00:00+01:00"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, read := range map[string]struct {
			parse  func([]byte) (StatusUpdate, bool)
			decode func([]byte) (StatusUpdate, error)
		}{"status": {parseStatus, decodeStatus}, "task": {parseTask, decodeTask}} {
			got, ok := read.parse(data)
			if !ok {
				continue
			}
			want, err := read.decode(data)
			if err != nil {
				t.Fatalf("the quick way to read a %s accepts %s: %v", name, data, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s (-decoded +parsed):\n%s", name, data, diff)
			}
		}
	})
}

// A message is read the quick way as it is decoded.
func FuzzParseMessage(f *testing.F) {
	data, err := Append(nil, &MessageReceived{Message: json.RawMessage(`{"messageId":"\u003c","parts":[]}`), Hash: "00", For: ForPlanner})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"message":{"a":1}}`))
	f.Add([]byte(`{"message":{"a":1},"by":{"for":"nobody"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, reader, ok := ParseMessage(data)
		if !ok || !json.Valid(data) {
			return
		}
		var want map[string]json.RawMessage
		if err := strictjson.Validate(data); err != nil {
			return // names that occur twice, which are never written
		}
		if err := json.Unmarshal(data, &want); err != nil || string(want["message"]) != string(got) || string(want["for"]) != `"`+string(reader)+`"` {
			t.Errorf("ParseMessage(%s) = %s for %s, want %s for %s, %v", data, got, reader, want["message"], want["for"], err)
		}
	})
}

// What the engine writes is read the quick way.
func TestParseStatus(t *testing.T) {
	t.Parallel()
	ids := NewIDs("t", "<c>")
	want := StatusUpdate{State: a2a.TaskStateInputRequired, At: 1_792_000_000_123, Message: json.RawMessage(`{"messageId":"m"}`), Metadata: json.RawMessage(`{"a":1}`)}
	got, ok := parseStatus(AppendStatusUpdate(nil, ids, want.State, want.At, want.Message, want.Metadata))
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("parseStatus() = %t, (-want +got):\n%s", ok, diff)
	}
	want.Message = nil
	got, ok = parseTask(AppendTask(nil, ids, want.State, want.At, want.Metadata))
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("parseTask() = %t, (-want +got):\n%s", ok, diff)
	}
}

// compactJSON writes what json.Marshal writes.
func FuzzCompactJSON(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{ "a": [1, "x y", "\"<b>&\\"] }`, "\"\u2028\"", `"\u2028<"`, `[]`, ` 1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		want, err := json.Marshal(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := compactJSON(raw); err != nil || string(got) != string(want) {
			t.Errorf("compactJSON(%q) = %q, %v, want %q", raw, got, err, want)
		}
	})
}
