package view

import (
	"strings"

	"a2a-server/task/internal/event"
	"a2a-server/task/internal/event/eventtest"

	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
)

// viewModel is the fold as one would write it with the SDK's types.
type viewModel struct {
	log       []*a2a.Message // the user's messages and those of statuses
	current   *a2a.Message   // of the newest status
	status    a2a.TaskStatus
	begun     bool
	base, top map[string]any
	artifacts []*a2a.Artifact
}

func (m *viewModel) setStatus(s a2a.TaskStatus, metadata map[string]any) {
	m.status, m.current, m.top = s, s.Message, metadata
	if s.Message != nil {
		m.log = append(m.log, s.Message)
	}
}

func (m *viewModel) addArtifact(e *a2a.TaskArtifactUpdateEvent) {
	i := slices.IndexFunc(m.artifacts, func(a *a2a.Artifact) bool { return a.ID == e.Artifact.ID })
	if i < 0 {
		m.artifacts = append(m.artifacts, e.Artifact)
		return
	}
	if !e.Append {
		m.artifacts[i] = e.Artifact
		return
	}
	a := *m.artifacts[i]
	if p := e.Artifact.Parts; len(a.Parts) == 0 || !e.LastChunk || len(p) != 1 || p[0].Content != a2a.Text("") {
		a.Parts = append(slices.Clone(a.Parts), p...)
	}
	if e.Artifact.Name != "" {
		a.Name = e.Artifact.Name
	}
	if e.Artifact.Description != "" {
		a.Description = e.Artifact.Description
	}
	if len(e.Artifact.Metadata) > 0 {
		a.Metadata = e.Artifact.Metadata
	}
	if len(e.Artifact.Extensions) > 0 {
		a.Extensions = e.Artifact.Extensions
	}
	m.artifacts[i] = &a
}

func (m *viewModel) task(o Options) *a2a.Task {
	t := &a2a.Task{ID: "t", ContextID: "c", Status: m.status, Metadata: map[string]any{}}
	maps.Copy(t.Metadata, m.base)
	maps.Copy(t.Metadata, m.top)
	t.History = slices.DeleteFunc(slices.Clone(m.log), func(x *a2a.Message) bool { return x == m.current })
	t.History = t.History[max(0, len(t.History)-maxHistory):]
	if o.HistoryLength >= 0 {
		t.History = t.History[max(0, len(t.History)-o.HistoryLength):]
	}
	if !o.NoArtifacts {
		t.Artifacts = m.artifacts
	}
	return t
}

// viewPair is a View and the model of the same log.
type viewPair struct {
	view  *View
	model viewModel
	n     int // of messages
}

func newViewPair() *viewPair { return &viewPair{view: New("t", "c")} }

func (p *viewPair) message(role a2a.MessageRole) *a2a.Message {
	p.n++
	return &a2a.Message{
		ID: fmt.Sprintf("m%d", p.n), Role: role, TaskID: "t", ContextID: "c",
		Parts: a2a.ContentParts{a2a.NewTextPart(fmt.Sprintf("<%d>", p.n))},
	}
}

// event applies an event as it is stored.
func (p *viewPair) event(t testing.TB, kind string, e a2a.Event) {
	t.Helper()
	data := []byte(eventtest.MarshalJSON(t, a2a.StreamResponse{Event: e}))
	if err := p.view.Apply(kind, data); err != nil {
		t.Fatalf("apply(%s, %s): %v", kind, data, err)
	}
	clear(data) // nothing of it may have been kept
}

func (p *viewPair) begin(t testing.TB, metadata map[string]any) {
	t.Helper()
	s := a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: eventtest.TimePointer(store.Millis(1000))}
	p.event(t, "task", &a2a.Task{ID: "t", ContextID: "c", Status: s, Metadata: metadata})
	p.model.setStatus(s, nil /* metadata */)
	if !p.model.begun {
		p.model.begun, p.model.base = true, metadata
	}
}

func (p *viewPair) user(t testing.TB) {
	t.Helper()
	m := p.message(a2a.MessageRoleUser)
	raw := json.RawMessage(eventtest.MarshalJSON(t, m))
	p.view.AddMessage(raw)
	p.model.log = append(p.model.log, m)
}

func (p *viewPair) status(t testing.TB, state a2a.TaskState, withMessage bool, metadata map[string]any) {
	t.Helper()
	p.n++
	s := a2a.TaskStatus{State: state, Timestamp: eventtest.TimePointer(store.Millis(1000 + p.n))}
	if withMessage {
		s.Message = p.message(a2a.MessageRoleAgent)
	}
	p.event(t, "status", &a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: s, Metadata: metadata})
	p.model.setStatus(s, metadata)
}

func (p *viewPair) artifact(t testing.TB, e *a2a.TaskArtifactUpdateEvent) {
	t.Helper()
	e.TaskID, e.ContextID = "t", "c"
	p.event(t, "artifact", e)
	p.model.addArtifact(e)
}

// check compares what is shown, the binary form, and the size.
func (p *viewPair) check(t testing.TB, o Options) {
	t.Helper()
	want := "x" + eventtest.MarshalJSON(t, p.model.task(o))
	if diff := eventtest.Diff(want, string(p.view.AppendTask([]byte("x"), o))); diff != "" {
		t.Fatalf("AppendTask(%+v) (-want +got):\n%s", o, diff)
	}
	task, err := p.view.Task(o)
	if err != nil {
		t.Fatalf("Task(%+v): %v", o, err)
	}
	if diff := eventtest.Diff(want[1:], eventtest.MarshalJSON(t, task)); diff != "" {
		t.Fatalf("Task(%+v) (-want +got):\n%s", o, diff)
	}
	if p.view.TaskID() != "t" || p.view.ContextID() != "c" {
		t.Errorf("ids = %q, %q, want t, c", p.view.TaskID(), p.view.ContextID())
	}
	if got := p.view.State(); got != p.model.status.State {
		t.Errorf("State() = %s, want %s", got, p.model.status.State)
	}
	if at := eventtest.TimePointer(p.view.StatusTime()); !cmp.Equal(at, p.model.status.Timestamp) {
		t.Errorf("StatusTime() = %v, want %v", at, p.model.status.Timestamp)
	}
	stored := storedForm(p.view)
	again, err := stored.decode()
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	if diff := eventtest.Diff(want[1:], string(again.AppendTask(nil, o))); diff != "" {
		t.Fatalf("AppendTask() after decoding (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(stored, storedForm(again)); diff != "" {
		t.Fatalf("encoded again (-want +got):\n%s", diff)
	}
	if got := again.Size(); got != p.view.Size() {
		t.Errorf("Size() after decoding = %d, want %d", got, p.view.Size())
	}
	if _, err := Decode(append(stored.View, 0)); err == nil {
		t.Error("Decode() of more than a view gave no error")
	}
}

// viewForm is the binary form of a View and its artifacts.
type viewForm struct{ View, Artifacts []byte }

func storedForm(v *View) viewForm { return viewForm{v.AppendBinary(nil), v.AppendArtifacts(nil)} }

func (f viewForm) decode() (*View, error) {
	v, err := Decode(f.View)
	if err == nil {
		err = v.DecodeArtifacts(f.Artifacts)
	}
	return v, err
}

// swap continues with the View that the binary form gives.
func (p *viewPair) swap(t testing.TB) {
	t.Helper()
	view, err := storedForm(p.view).decode()
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	p.view = view
}

func TestViewRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			p := newViewPair()
			p.check(t, Options{HistoryLength: -1})
			p.user(t)
			p.begin(t, eventtest.Metadata()[r.IntN(4)])
			states := []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateCompleted}
			artifacts := eventtest.Artifacts()
			for range 60 {
				switch r.IntN(10) {
				case 0, 1:
					p.user(t)
				case 2, 3, 4:
					p.status(t, states[r.IntN(len(states))], r.IntN(3) > 0, eventtest.Metadata()[r.IntN(4)])
				case 5:
					p.swap(t)
				case 6:
					p.begin(t, eventtest.Metadata()[r.IntN(4)])
				default:
					a := *artifacts[r.IntN(len(artifacts))]
					a.ID = a2a.ArtifactID(fmt.Sprint("<", r.IntN(4)))
					p.artifact(t, &a2a.TaskArtifactUpdateEvent{Artifact: &a, Append: r.IntN(3) > 0, LastChunk: r.IntN(5) == 0})
				}
				p.check(t, Options{HistoryLength: r.IntN(12) - 1, NoArtifacts: r.IntN(4) == 0})
			}
		})
	}
}

func TestViewHistoryLimit(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]int{"none": 0, "some": 10, "one less": maxHistory - 1, "all": maxHistory, "one more": maxHistory + 1, "many": 3 * maxHistory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newViewPair()
			p.begin(t, nil)
			for range maxHistory + 5 {
				p.user(t)
			}
			p.status(t, a2a.TaskStateInputRequired, true /* withMessage */, nil)
			for range after {
				p.user(t)
			}
			p.check(t, Options{HistoryLength: -1})
			p.status(t, a2a.TaskStateWorking, true /* withMessage */, nil)
			p.check(t, Options{HistoryLength: -1})
			p.status(t, a2a.TaskStateWorking, false /* withMessage */, nil)
			p.check(t, Options{HistoryLength: -1})
			p.check(t, Options{HistoryLength: 3})
		})
	}
}

func TestViewMetadata(t *testing.T) {
	t.Parallel()
	p := newViewPair()
	p.begin(t, map[string]any{"kept": 1.0, "overlaid": nil})
	p.status(t, a2a.TaskStateWorking, false /* withMessage */, map[string]any{"stale": 1.0, "overlaid": "<x>"})
	p.check(t, Options{})
	p.status(t, a2a.TaskStateWorking, false /* withMessage */, map[string]any{"a": nil})
	p.check(t, Options{})
	if diff := cmp.Diff(`{"a":null,"kept":1,"overlaid":null}`, string(p.view.metadata)); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	p.status(t, a2a.TaskStateWorking, false /* withMessage */, nil)
	p.check(t, Options{})
	// What is no object, which no caller should give, leaves the base as it is.
	for _, raw := range []string{`[1]`, `"x"`, `{`, `null`, `{}`, ``} {
		p.view.SetStatus(a2a.TaskStateWorking, p.view.at, nil /* message */, nil /* masked */, json.RawMessage(raw))
		if diff := cmp.Diff(`{"kept":1,"overlaid":null}`, string(p.view.metadata)); diff != "" {
			t.Errorf("metadata after %s (-want +got):\n%s", raw, diff)
		}
	}
}

func TestViewApplyErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ kind, data string }{
		"kind":     {"approval", `{}`},
		"task":     {"task", `{}`},
		"status":   {"status", `{"statusUpdate":{"metadata":[1]}}`},
		"artifact": {"artifact", `{"artifactUpdate":{}}`},
		"cut":      {"artifact", `{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"te`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newViewPair()
			p.begin(t, map[string]any{"a": 1.0})
			if err := p.view.Apply(tt.kind, []byte(tt.data)); err == nil {
				t.Errorf("apply(%s, %s) = nil, want an error", tt.kind, tt.data)
			}
			p.check(t, Options{HistoryLength: -1})
		})
	}
}

// TestViewDecodedDoesNotWrite shows that a View leaves alone the bytes it was
// decoded from.
func TestViewDecodedDoesNotWrite(t *testing.T) {
	t.Parallel()
	p := newViewPair()
	for _, id := range []a2a.ArtifactID{"a", "b"} {
		p.artifact(t, &a2a.TaskArtifactUpdateEvent{Artifact: &a2a.Artifact{ID: id, Parts: a2a.ContentParts{a2a.NewTextPart("1")}}})
	}
	stored := storedForm(p.view)
	before := viewForm{slices.Clone(stored.View), slices.Clone(stored.Artifacts)}
	var err error
	if p.view, err = stored.decode(); err != nil {
		t.Fatal(err)
	}
	p.artifact(t, &a2a.TaskArtifactUpdateEvent{Append: true, Artifact: &a2a.Artifact{ID: "a", Parts: a2a.ContentParts{a2a.NewTextPart("2")}}})
	p.check(t, Options{})
	if diff := cmp.Diff(before, stored); diff != "" {
		t.Errorf("the snapshot changed (-before +after):\n%s", diff)
	}
}

// sampleView is a View with something in every field.
func sampleView(t testing.TB) *View {
	t.Helper()
	p := newViewPair()
	p.user(t)
	p.begin(t, eventtest.Metadata()[2])
	p.status(t, a2a.TaskStateInputRequired, true /* withMessage */, eventtest.Metadata()[3])
	p.user(t)
	for _, a := range eventtest.Artifacts()[28:32] {
		p.artifact(t, &a2a.TaskArtifactUpdateEvent{Artifact: a, Append: true})
	}
	p.artifact(t, &a2a.TaskArtifactUpdateEvent{Artifact: &a2a.Artifact{ID: "b", Name: "n", Description: "d", Parts: a2a.ContentParts{a2a.NewTextPart("x")}}})
	return p.view
}

func TestDecodeCut(t *testing.T) {
	t.Parallel()
	v := sampleView(t)
	for name, form := range map[string]struct {
		stored []byte
		decode func(b []byte) error
	}{
		"view":      {v.AppendBinary(nil), func(b []byte) error { _, err := Decode(b); return err }},
		"artifacts": {v.AppendArtifacts(nil), func(b []byte) error { return New("t", "c").DecodeArtifacts(b) }},
	} {
		for n := range form.stored {
			if form.decode(form.stored[:n]) == nil {
				t.Fatalf("%s: decoding %d of %d bytes gave no error", name, n, len(form.stored))
			}
		}
		form.stored[0]++
		if form.decode(form.stored) == nil {
			t.Errorf("%s: decoding another version gave no error", name)
		}
	}
	if err := New("t", "c").DecodeArtifacts(append(v.AppendArtifacts(nil), 0)); err == nil {
		t.Error("decodeArtifacts() of more than artifacts gave no error")
	}
}

func FuzzDecodeView(f *testing.F) {
	for _, v := range []*View{New("t", "c"), sampleView(f)} {
		f.Add(v.AppendBinary(nil), v.AppendArtifacts(nil))
	}
	f.Fuzz(func(t *testing.T, view, artifacts []byte) {
		v, err := viewForm{view, artifacts}.decode()
		if err != nil {
			return
		}
		v.AppendTask(nil, Options{HistoryLength: -1})
		v.SetStatus(a2a.TaskStateWorking, 1, nil /* message */, nil /* masked */, nil /* metadata */)
		v.AddMessage(json.RawMessage(`{"messageId":"m"}`))
		v.AddArtifact(&event.ArtifactUpdate{ID: "a", Append: true, Parts: event.TextPart("x")})
		stored := storedForm(v)
		again, err := stored.decode()
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if diff := cmp.Diff(stored, storedForm(again)); diff != "" {
			t.Errorf("encoded again (-want +got):\n%s", diff)
		}
	})
}

// BenchmarkViewChunks shows that a chunk costs the same whatever came before it.
func BenchmarkViewChunks(b *testing.B) {
	data := event.EncodeArtifact(event.NewIDs("t", "c"), &event.ArtifactUpdate{ID: "output", Parts: event.TextPart(strings.Repeat("a chunk of text, ", 6)), Append: true})
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				v := New("t", "c")
				for range n {
					if err := v.Apply("artifact", data); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/chunk")
		})
	}
}
