package task

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
)

// wireTexts are strings that JSON, or encoding/json alone, treats in a special way.
func wireTexts() []string {
	return []string{
		"", "plain", `quote " and \ backslash`, "tab\tnewline\nreturn\rbell\abackspace\bfeed\f",
		"\x00\x01\x1f\x7f", "<a href='x'>&amp;</a>", "line\u2028separator\u2029s", "grüße, 世界 🎉",
		"bad \xff utf-8 \xc3", "\xed\xa0\x80 surrogate", "\xe2\x80", "\ufffd itself", strings.Repeat("x", 300) + "\n",
	}
}

// wireTimes are times whose fraction has every length, and none at all.
func wireTimes() []store.Millis {
	return []store.Millis{0, 1, 1_700_000_000_000, 1_700_000_000_600, 1_700_000_000_610, 1_700_000_000_617, 1_700_000_000_007, -1}
}

func marshalJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("json.Marshal(%v): %v", v, err)
	}
	return string(b)
}

// diffText is cmp.Diff for long texts, which mostly are equal.
func diffText(want, got string) string {
	if want == got {
		return ""
	}
	return cmp.Diff(want, got)
}

// rawOrNil is the JSON of a map or list, or nothing for an empty one.
func rawOrNil(t testing.TB, v any, length int) json.RawMessage {
	t.Helper()
	if length == 0 {
		return nil
	}
	return json.RawMessage(marshalJSON(t, v))
}

func timePointer(at store.Millis) *time.Time {
	if at == 0 {
		return nil
	}
	t := at.Time()
	return &t
}

func wireMetadata() []map[string]any {
	return []map[string]any{
		nil,
		{},
		{"z": 1.5, "a": []any{true, nil, "<x>"}, "m": map[string]any{}},
		{"urn:x": map[string]any{"k\u2028": "v"}},
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		s := "a" + string([]byte{byte(b)}) + "z"
		if got, want := string(appendString(nil, s)), marshalJSON(t, s); got != want {
			t.Errorf("appendString(%q) = %s, want %s", s, got, want)
		}
	}
	for _, s := range wireTexts() {
		if got, want := string(appendString([]byte("x"), s)), "x"+marshalJSON(t, s); got != want {
			t.Errorf("appendString(%q) = %s, want %s", s, got, want)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range wireTexts() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(appendString(nil, s)), marshalJSON(t, s); got != want {
			t.Errorf("appendString(%q) = %s, want %s", s, got, want)
		}
		if got, want := string(textPart(s)), marshalJSON(t, a2a.NewTextPart(s)); got != want {
			t.Errorf("textPart(%q) = %s, want %s", s, got, want)
		}
	})
}

func TestEncodeTask(t *testing.T) {
	t.Parallel()
	for _, id := range wireTexts() {
		for _, at := range wireTimes() {
			for _, metadata := range wireMetadata() {
				task := &a2a.Task{
					ID: a2a.TaskID(id), ContextID: "context " + id, Metadata: metadata,
					Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: timePointer(at)},
				}
				want := marshalJSON(t, a2a.StreamResponse{Event: task})
				got := appendTask(nil, newWireIDs(id, task.ContextID), task.Status.State, at, json.RawMessage(marshalJSON(t, metadata)))
				if diff := diffText(want, string(got)); diff != "" {
					t.Fatalf("appendTask() (-want +got):\n%s", diff)
				}
			}
		}
	}
}

func TestEncodeStatus(t *testing.T) {
	t.Parallel()
	states := []a2a.TaskState{a2a.TaskStateUnspecified, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskState("<own>")}
	messages := []*a2a.Message{nil, {
		ID: "m1", Role: a2a.MessageRoleAgent, TaskID: "t", ContextID: "c", Metadata: map[string]any{"b": 1.0, "a": "&"},
		Parts: a2a.ContentParts{a2a.NewTextPart("may I <run> it?"), a2a.NewDataPart(map[string]any{"k": []any{1.0, "\u2028"}})},
	}}
	for _, state := range states {
		for _, at := range wireTimes() {
			for _, message := range messages {
				for _, metadata := range wireMetadata() {
					event := &a2a.TaskStatusUpdateEvent{
						TaskID: "t <1>", ContextID: "c\n", Metadata: metadata,
						Status: a2a.TaskStatus{State: state, Message: message, Timestamp: timePointer(at)},
					}
					want := marshalJSON(t, a2a.StreamResponse{Event: event})
					got := appendStatusUpdate(nil, newWireIDs("t <1>", "c\n"), state, at,
						json.RawMessage(marshalJSON(t, message)), json.RawMessage(marshalJSON(t, metadata)))
					if diff := diffText(want, string(got)); diff != "" {
						t.Fatalf("appendStatusUpdate() (-want +got):\n%s", diff)
					}
					u, err := decodeStatus(got)
					if err != nil || u.State != state || u.At != at {
						t.Fatalf("decodeStatus(%s) = %v, %v", got, u, err)
					}
				}
			}
		}
	}
}

// sdkArtifact is the SDK's event of what encodeArtifact is given, and its JSON.
func sdkArtifact(t testing.TB, task, context string, a *a2a.Artifact, appends, last bool, metadata map[string]any) (*artifactUpdate, string) {
	t.Helper()
	u := &artifactUpdate{
		ID: string(a.ID), Name: a.Name, Description: a.Description, Append: appends, Last: last,
		Metadata:      rawOrNil(t, a.Metadata, len(a.Metadata)),
		Extensions:    rawOrNil(t, a.Extensions, len(a.Extensions)),
		EventMetadata: rawOrNil(t, metadata, len(metadata)),
	}
	for i, part := range a.Parts {
		if i > 0 {
			u.Parts = append(u.Parts, ',')
		}
		u.Parts = append(u.Parts, marshalJSON(t, part)...)
	}
	return u, marshalJSON(t, a2a.StreamResponse{Event: &a2a.TaskArtifactUpdateEvent{
		TaskID: a2a.TaskID(task), ContextID: context, Artifact: a, Append: appends, LastChunk: last, Metadata: metadata,
	}})
}

// wireArtifacts are artifacts with every field present and absent.
func wireArtifacts() []*a2a.Artifact {
	var all []*a2a.Artifact
	partLists := []a2a.ContentParts{
		{},
		{a2a.NewTextPart("")},
		{a2a.NewTextPart("<b>\u2028"), a2a.NewDataPart([]any{map[string]any{"n": -1.5e300, "s": "ü", "e": map[string]any{}}, []any{}, nil, true, false})},
		{a2a.NewRawPart([]byte{0, 1, 255}), a2a.NewFileURLPart("https://example.org/?a&b", "text/plain")},
	}
	for _, text := range []string{"", "näme <x>"} {
		for _, extensions := range [][]string{nil, {"urn:a", "urn:<b>"}} {
			for _, metadata := range wireMetadata() {
				for _, parts := range partLists {
					all = append(all, &a2a.Artifact{
						ID: a2a.ArtifactID("id" + text), Name: text, Description: text, Extensions: extensions, Metadata: metadata, Parts: parts,
					})
				}
			}
		}
	}
	return all
}

func TestEncodeArtifact(t *testing.T) {
	t.Parallel()
	for _, a := range wireArtifacts() {
		for _, appends := range []bool{false, true} {
			for _, last := range []bool{false, true} {
				for _, metadata := range wireMetadata() {
					u, want := sdkArtifact(t, "t&", "c<", a, appends, last, metadata)
					got := encodeArtifact(newWireIDs("t&", "c<"), u)
					if diff := diffText(want, string(got)); diff != "" {
						t.Fatalf("encodeArtifact() (-want +got):\n%s", diff)
					}
				}
			}
		}
	}
}

func FuzzEncodeArtifact(f *testing.F) {
	for _, s := range wireTexts() {
		f.Add("t", "c", "a", s, "", s, true, false)
		f.Add(s, s, s, s, s, s, false, true)
	}
	f.Fuzz(func(t *testing.T, task, context, id, name, description, text string, appends, last bool) {
		a := &a2a.Artifact{ID: a2a.ArtifactID(id), Name: name, Description: description, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
		u, want := sdkArtifact(t, task, context, a, appends, last, nil /* metadata */)
		u.Parts = textPart(text)
		got := encodeArtifact(newWireIDs(task, context), u)
		if string(got) != want {
			t.Fatalf("encodeArtifact() = %s\nwant %s", got, want)
		}
		if _, ok := parseArtifact(got); !ok {
			t.Errorf("parseArtifact(%s) refused it", got)
		}
	})
}

func TestDecodeStatusErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ kind, data string }{
		"not JSON":         {"status", `{"statusUpdate":`},
		"another event":    {"status", `{"task":{}}`},
		"message is text":  {"status", `{"statusUpdate":{"status":{"message":"hello"}}}`},
		"metadata is text": {"status", `{"statusUpdate":{"metadata":"hello","status":{}}}`},
		"no task":          {"task", `{"statusUpdate":{}}`},
		"task not JSON":    {"task", `{"task":{}`},
		"task is a list":   {"task", `{"task":[]}`},
		"history":          {"task", `{"task":{"history":[{}]}}`},
		"artifacts":        {"task", `{"task":{"artifacts":[{}]}}`},
		"time":             {"task", `{"task":{"status":{"timestamp":"yesterday"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var u statusUpdate
			var err error
			if tt.kind == "task" {
				u, err = decodeTask([]byte(tt.data))
			} else {
				u, err = decodeStatus([]byte(tt.data))
			}
			if err == nil {
				t.Errorf("decoding %s gave %v, want an error", tt.data, u)
			}
		})
	}
}

// benchmarkText is what a streaming tool typically sends at once.
func benchmarkText() string {
	return strings.Repeat("a line of output, as tools write ", 3) + "\n"
}

func BenchmarkEncodeArtifact(b *testing.B) {
	ids := newWireIDs("0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908", "0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1909")
	u := &artifactUpdate{ID: "output", Parts: textPart(benchmarkText()), Append: true}
	b.ReportAllocs()
	for b.Loop() {
		encodeArtifact(ids, u)
	}
}

func BenchmarkTextPart(b *testing.B) {
	text := benchmarkText()
	b.ReportAllocs()
	for b.Loop() {
		textPart(text)
	}
}
