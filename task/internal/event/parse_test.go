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

func TestReadArtifact(t *testing.T) {
	t.Parallel()
	for i, a := range eventtest.Artifacts() {
		// Every artifact with half of the metadata, and with one pair of flags.
		for _, metadata := range eventtest.Metadata()[i%2*2:][:2] {
			want, data := sdkArtifact(t, "t", "ü<", a, i/4%2 == 0, i/8%2 == 0, metadata)
			got, err := ReadArtifact([]byte(data))
			if diff := cmp.Diff(want, &got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Fatalf("ReadArtifact(%s): %v (-want +got):\n%s", data, err, diff)
			}
		}
	}
}

// Statuses are read as they were written.
func TestReadStatus(t *testing.T) {
	t.Parallel()
	ids := NewIDs("t", "<c>")
	for _, want := range []StatusUpdate{
		{State: a2a.TaskStateInputRequired, At: 1_792_000_000_123, Message: json.RawMessage(`{"messageId":"m"}`), Metadata: json.RawMessage(`{"a":1}`)},
		{State: a2a.TaskStateUnspecified},
	} {
		got, err := ReadStatus(AppendStatusUpdate(nil, ids, want.State, want.At, want.Message, want.Metadata))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("ReadStatus(): %v (-want +got):\n%s", err, diff)
		}
		want.Message = nil
		got, err = ReadTask(AppendTask(nil, ids, want.State, want.At, want.Metadata))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("ReadTask(): %v (-want +got):\n%s", err, diff)
		}
	}
}

// TestReadRefuses has events that no server writes: they are damaged, or of a newer program.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	artifact := func(data []byte) error { _, err := ReadArtifact(data); return err }
	status := func(data []byte) error { _, err := ReadStatus(data); return err }
	task := func(data []byte) error { _, err := ReadTask(data); return err }
	const (
		plain  = `{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"x"}]},"contextId":"c","taskId":"t"}}`
		said   = `{"statusUpdate":{"contextId":"c","status":{"message":{"a":1},"state":"s","timestamp":"2026-01-02T03:04:05Z"},"taskId":"t","metadata":{"a":1}}}`
		begun  = `{"task":{"id":"t","contextId":"c","metadata":{"a":1},"status":{"state":"s"}}}`
		within = `{"text":"x"}`
	)
	for name, tt := range map[string]struct {
		read               func([]byte) error
		data, old, changed string
	}{
		"empty":                   {artifact, plain, plain, ""},
		"cut":                     {artifact, plain, `}}`, `}`},
		"something after it":      {artifact, plain, `}}`, `}}{}`},
		"another order":           {artifact, plain, `"contextId":"c","taskId":"t"`, `"taskId":"t","contextId":"c"`},
		"append false":            {artifact, plain, `"artifact":{`, `"append":false,"artifact":{`},
		"parts null":              {artifact, plain, `[{"text":"x"}]`, `null`},
		"no artifact":             {artifact, plain, plain, `{"artifactUpdate":{"contextId":"c"}}`},
		"another event":           {artifact, plain, plain, said},
		"status, cut":             {status, said, `}}}`, `}}`},
		"status, another event":   {status, said, said, begun},
		"status, message a text":  {status, said, `"message":{"a":1}`, `"message":"hello"`},
		"status, metadata a text": {status, said, `"metadata":{"a":1}`, `"metadata":"hello"`},
		"status, no metadata":     {status, said, `"metadata":{"a":1}`, `"metadata":{}`},
		"status, time":            {status, said, `2026-01-02T03:04:05Z`, `yesterday`},
		"task, another event":     {task, begun, begun, said},
		"task, a list":            {task, begun, begun, `{"task":[]}`},
		"task, history":           {task, begun, `,"metadata"`, `,"history":[{}],"metadata"`},
		"task, artifacts":         {task, begun, `,"contextId"`, `,"artifacts":[{}],"contextId"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.read([]byte(tt.data)); err != nil {
				t.Fatalf("%s: %v", tt.data, err)
			}
			if data := strings.Replace(tt.data, tt.old, tt.changed, 1); tt.read([]byte(data)) == nil {
				t.Errorf("%s is read, want an error", data)
			}
		})
	}
	deep := strings.Replace(plain, within, strings.Repeat("[", 2000)+strings.Repeat("]", 2000), 1)
	if err := artifact([]byte(deep)); err != nil {
		t.Errorf("an artifact with deep data: %v", err)
	}
}

// FuzzRead reads the same again from its own encoding.
func FuzzRead(f *testing.F) {
	ids := NewIDs("t", "<c>")
	for _, a := range eventtest.Artifacts() {
		_, data := sdkArtifact(f, "t", "c", a, true /* appends */, true /* last */, eventtest.Metadata()[2])
		f.Add([]byte(data))
	}
	f.Add([]byte(`{"artifactUpdate":{"artifact":{"artifactId":"\ud800\/","metadata":null,"parts":[-0.0e+1,[],{},null]},"contextId":"","taskId":"","metadata":1}}`))
	f.Add(AppendStatusUpdate(nil, ids, a2a.TaskStateInputRequired, 1_792_000_000_123, json.RawMessage(`{"messageId":"m"}`), json.RawMessage(`{"a":{"b":[1,2]}}`)))
	f.Add(AppendTask(nil, ids, a2a.TaskStateSubmitted, 1, json.RawMessage(`{"a":1}`)))
	f.Add([]byte(`{"task":{"id":"","contextId":"","status":{"state":"x","timestamp":"2026-01-01T00:00:00+01:00"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return // the store notices damage
		}
		a, noArtifact := ReadArtifact(data)
		u, noStatus := ReadStatus(data)
		begun, noTask := ReadTask(data)
		var want, got any
		switch {
		case noArtifact == nil:
			again, err := ReadArtifact(EncodeArtifact(ids, &a))
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range []*json.RawMessage{&a.Extensions, &a.Metadata, &a.EventMetadata} {
				if EmptyJSON(*raw) {
					*raw = nil // it is left out
				}
			}
			want, got = a, again
		case noStatus == nil:
			again, err := ReadStatus(AppendStatusUpdate(nil, ids, u.State, u.At, u.Message, u.Metadata))
			if err != nil {
				t.Fatal(err)
			}
			want, got = u, again
		case noTask == nil:
			again, err := ReadTask(AppendTask(nil, ids, begun.State, begun.At, begun.Metadata))
			if err != nil {
				t.Fatal(err)
			}
			begun.Message = nil // a task has none
			want, got = begun, again
		default:
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is read otherwise from its own encoding (-first +second):\n%s", data, diff)
		}
	})
}

// A message is read without its event as it is decoded with it.
func FuzzReadMessage(f *testing.F) {
	data, err := Append(nil, &MessageReceived{Message: json.RawMessage(`{"messageId":"\u003c","parts":[]}`), Hash: "00", For: ForPlanner})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"message":{"a":1}}`))
	f.Add([]byte(`{"message":{"a":1},"by":{"for":"nobody"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want MessageReceived
		if strictjson.Validate(data) != nil || json.Unmarshal(data, &want) != nil {
			return // damaged, or with names that occur twice, which are never written
		}
		got, reader, err := ReadMessage(data)
		if err != nil || string(got) != string(want.Message) || reader != want.For {
			t.Errorf("ReadMessage(%s) = %s for %s, %v; want %s for %s", data, got, reader, err, want.Message, want.For)
		}
	})
}

func BenchmarkReadArtifact(b *testing.B) {
	data := EncodeArtifact(NewIDs("0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908", "0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1909"),
		&ArtifactUpdate{ID: "output", Parts: TextPart(benchmarkText()), Append: true})
	b.ReportAllocs()
	for b.Loop() {
		_, _ = ReadArtifact(data)
	}
}
