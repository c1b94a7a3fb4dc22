package interop

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// A story is what a stream has told so far: the state it went through, and the text
// of its artifacts put together as a client does it.
type story struct {
	task   a2a.TaskID
	states []a2a.TaskState // that of a snapshot first
	last   *a2a.Message    // of the newest status
	ids    []a2a.ArtifactID
	said   map[a2a.ArtifactID]string
	chunks int          // artifact events that say something
	closed bool         // the last chunk is marked as such
	result *a2a.Message // an answer that is no task
}

// add adds an event, and fails where a stream has no business to send it.
func (s *story) add(t *testing.T, event a2a.Event) {
	t.Helper()
	switch e := event.(type) {
	case *a2a.Task:
		if s.task != "" {
			t.Fatalf("a second snapshot, of task %s", e.ID)
		}
		s.task, s.last = e.ID, e.Status.Message
		s.states = append(s.states, e.Status.State)
		for _, a := range e.Artifacts {
			s.artifact(t, a)
		}
	case *a2a.TaskStatusUpdateEvent:
		s.sameTask(t, e.TaskID)
		s.states, s.last = append(s.states, e.Status.State), e.Status.Message
	case *a2a.TaskArtifactUpdateEvent:
		s.sameTask(t, e.TaskID)
		if s.closed || !e.Append && s.chunks > 0 {
			t.Fatalf("after %d chunks (the last one: %t) comes %+v", s.chunks, s.closed, e)
		}
		if !e.Append {
			// A tool that runs again, after a kill, begins its artifact from nothing.
			delete(s.said, e.Artifact.ID)
		}
		// The mark may come alone, when the tool ends long after its last chunk.
		if s.artifact(t, e.Artifact) != "" {
			s.chunks++
		}
		s.closed = e.LastChunk
	case *a2a.Message:
		s.result = e
	default:
		t.Fatalf("a stream with a %T", event)
	}
}

// artifact adds to an artifact, and returns what.
func (s *story) artifact(t *testing.T, a *a2a.Artifact) string {
	t.Helper()
	if s.said == nil {
		s.said = map[a2a.ArtifactID]string{}
	}
	if !slices.Contains(s.ids, a.ID) {
		s.ids = append(s.ids, a.ID)
	}
	said := content(t, a.Parts)
	s.said[a.ID] += said
	return said
}

// text returns what the artifacts say, all together.
func (s *story) text() string {
	text := ""
	for _, id := range s.ids {
		text += s.said[id]
	}
	return text
}

func (s *story) sameTask(t *testing.T, id a2a.TaskID) {
	t.Helper()
	if s.task != id {
		t.Fatalf("an event of task %q in the stream of task %q; the first event has to be the task", id, s.task)
	}
}

// state is the newest.
func (s *story) state() a2a.TaskState {
	if len(s.states) == 0 {
		return ""
	}
	return s.states[len(s.states)-1]
}

// tell follows a stream to its end.
func (s *story) tell(t *testing.T, events iter.Seq2[a2a.Event, error]) {
	t.Helper()
	for event, err := range events {
		if err != nil {
			t.Fatalf("the stream broke after %d chunks and %v: %v", s.chunks, s.states, err)
		}
		s.add(t, event)
	}
}

// A follower reads a stream step by step.
type follower struct {
	story
	next func() (a2a.Event, error, bool)
	stop func() // breaks the stream off
}

// follow begins to read a stream. It is broken off when the test ends, if not before.
func follow(t *testing.T, events iter.Seq2[a2a.Event, error]) *follower {
	f := &follower{}
	f.next, f.stop = iter.Pull2(events)
	t.Cleanup(f.stop)
	return f
}

// step reads one event and reports whether there was one.
func (f *follower) step(t *testing.T) bool {
	t.Helper()
	event, err, ok := f.next()
	if err != nil {
		t.Fatalf("the stream broke after %d chunks and %v: %v", f.chunks, f.states, err)
	}
	if ok {
		f.add(t, event)
	}
	return ok
}

// until reads until a condition holds.
func (f *follower) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		if !f.step(t) {
			t.Fatalf("the stream ended after %d chunks and %v, before %s", f.chunks, f.states, what)
		}
	}
}

// untilGone reads what is left of a stream whose server is gone. Clients end it with an
// error of their own, or without.
func (f *follower) untilGone(t *testing.T) {
	t.Helper()
	for {
		event, err, ok := f.next()
		if !ok || err != nil {
			return
		}
		f.add(t, event)
	}
}

// artifactText returns what the artifacts of a task say, all together.
func artifactText(t *testing.T, task *a2a.Task) string {
	t.Helper()
	text := ""
	for _, a := range task.Artifacts {
		text += content(t, a.Parts)
	}
	return text
}

// content returns the text of parts, and the JSON of their data.
func content(t *testing.T, parts a2a.ContentParts) string {
	t.Helper()
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text())
		if p.Data() != nil {
			raw, err := json.Marshal(p.Data())
			if err != nil {
				t.Fatal(err)
			}
			b.Write(raw)
		}
	}
	return b.String()
}
