package event

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task/internal/event/eventtest"
)

// rawOrNil is the JSON of a map or list, or nothing for an empty one.
func rawOrNil(t testing.TB, v any, length int) json.RawMessage {
	t.Helper()
	if length == 0 {
		return nil
	}
	return json.RawMessage(eventtest.MarshalJSON(t, v))
}

func FuzzAppendString(f *testing.F) {
	for _, s := range eventtest.Texts() {
		f.Add(s)
	}
	for b := range 256 {
		f.Add("a" + string([]byte{byte(b)}) + "z")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(AppendString(nil, s)), eventtest.MarshalJSON(t, s); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", s, got, want)
		}
		if got, want := string(TextPart(s)), eventtest.MarshalJSON(t, a2a.NewTextPart(s)); got != want {
			t.Errorf("TextPart(%q) = %s, want %s", s, got, want)
		}
	})
}

func TestEncodeTask(t *testing.T) {
	t.Parallel()
	for _, id := range eventtest.Texts() {
		for _, at := range eventtest.Times() {
			for _, metadata := range eventtest.Metadata() {
				task := &a2a.Task{
					ID: a2a.TaskID(id), ContextID: "context " + id, Metadata: metadata,
					Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: eventtest.TimePointer(at)},
				}
				want := eventtest.MarshalJSON(t, a2a.StreamResponse{Event: task})
				got := AppendTask(nil, NewIDs(id, task.ContextID), task.Status.State, at, json.RawMessage(eventtest.MarshalJSON(t, metadata)))
				if diff := eventtest.Diff(want, string(got)); diff != "" {
					t.Fatalf("AppendTask() (-want +got):\n%s", diff)
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
		for _, at := range eventtest.Times() {
			for _, message := range messages {
				for _, metadata := range eventtest.Metadata() {
					event := &a2a.TaskStatusUpdateEvent{
						TaskID: "t <1>", ContextID: "c\n", Metadata: metadata,
						Status: a2a.TaskStatus{State: state, Message: message, Timestamp: eventtest.TimePointer(at)},
					}
					want := eventtest.MarshalJSON(t, a2a.StreamResponse{Event: event})
					got := AppendStatusUpdate(nil, NewIDs("t <1>", "c\n"), state, at,
						json.RawMessage(eventtest.MarshalJSON(t, message)), json.RawMessage(eventtest.MarshalJSON(t, metadata)))
					if diff := eventtest.Diff(want, string(got)); diff != "" {
						t.Fatalf("AppendStatusUpdate() (-want +got):\n%s", diff)
					}
					u, err := ReadStatus(got)
					if err != nil || u.State != state || u.At != at {
						t.Fatalf("ReadStatus(%s) = %v, %v", got, u, err)
					}
				}
			}
		}
	}
}

// sdkArtifact is the SDK's event of what EncodeArtifact is given, and its JSON.
func sdkArtifact(t testing.TB, task, context string, a *a2a.Artifact, appends, last bool, metadata map[string]any) (*ArtifactUpdate, string) {
	t.Helper()
	u := &ArtifactUpdate{
		ID: string(a.ID), Name: a.Name, Description: a.Description, Append: appends, Last: last,
		Metadata:      rawOrNil(t, a.Metadata, len(a.Metadata)),
		Extensions:    rawOrNil(t, a.Extensions, len(a.Extensions)),
		EventMetadata: rawOrNil(t, metadata, len(metadata)),
	}
	for i, part := range a.Parts {
		if i > 0 {
			u.Parts = append(u.Parts, ',')
		}
		u.Parts = append(u.Parts, eventtest.MarshalJSON(t, part)...)
	}
	return u, eventtest.MarshalJSON(t, a2a.StreamResponse{Event: &a2a.TaskArtifactUpdateEvent{
		TaskID: a2a.TaskID(task), ContextID: context, Artifact: a, Append: appends, LastChunk: last, Metadata: metadata,
	}})
}

func TestEncodeArtifact(t *testing.T) {
	t.Parallel()
	for _, a := range eventtest.Artifacts() {
		for _, appends := range []bool{false, true} {
			for _, last := range []bool{false, true} {
				for _, metadata := range eventtest.Metadata() {
					u, want := sdkArtifact(t, "t&", "c<", a, appends, last, metadata)
					got := EncodeArtifact(NewIDs("t&", "c<"), u)
					if diff := eventtest.Diff(want, string(got)); diff != "" {
						t.Fatalf("EncodeArtifact() (-want +got):\n%s", diff)
					}
				}
			}
		}
	}
}

func FuzzEncodeArtifact(f *testing.F) {
	for _, s := range eventtest.Texts() {
		f.Add("t", "c", "a", s, "", s, true, false)
		f.Add(s, s, s, s, s, s, false, true)
	}
	f.Fuzz(func(t *testing.T, task, context, id, name, description, text string, appends, last bool) {
		a := &a2a.Artifact{ID: a2a.ArtifactID(id), Name: name, Description: description, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
		u, want := sdkArtifact(t, task, context, a, appends, last, nil /* metadata */)
		u.Parts = TextPart(text)
		got := EncodeArtifact(NewIDs(task, context), u)
		if string(got) != want {
			t.Fatalf("EncodeArtifact() = %s\nwant %s", got, want)
		}
		if _, err := ReadArtifact(got); err != nil {
			t.Errorf("ReadArtifact(%s): %v", got, err)
		}
	})
}

// benchmarkText is what a streaming tool typically sends at once.
func benchmarkText() string {
	return strings.Repeat("a line of output, as tools write ", 3) + "\n"
}

func BenchmarkEncodeArtifact(b *testing.B) {
	ids := NewIDs("0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908", "0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1909")
	u := &ArtifactUpdate{ID: "output", Parts: TextPart(benchmarkText()), Append: true}
	b.ReportAllocs()
	for b.Loop() {
		EncodeArtifact(ids, u)
	}
}
