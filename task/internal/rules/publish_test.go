package rules_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// What a run publishes is folded from its parts, without reading it again; that
// gives what reading the log gives. The last piece of a call's artifact is marked as
// such, also when it is already on its way.
func TestChunksAreFoldedAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{false, true} { // the last chunk was out before the run ended
		k := newDesk(t, nil, &fake{name: "run"})
		k.begin(task.PlannedCall{Tool: "run"})
		f := k.fold()
		p := f.Publisher(presents, 1<<20)
		var chunks []output.RunEvent
		for i, c := range []any{"one", map[string]any{"two": 2}, "three"} {
			chunk, err := p.Chunk(k.now, "c1.1", "run", output.Chunk{Content: content(t, c), Metadata: map[string]any{"n": i}, First: i == 0})
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, chunk)
		}
		saved, err := p.Artifact(k.now, "c1.1", "notes", []agent.Part{{Text: "kept"}, {Data: map[string]any{"a": 1}}})
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, saved)
		n := 1
		if early {
			n = len(chunks)
		}
		b := &store.Batch{Scope: store.System(), Task: deskTask, Fence: &k.header.Fence}
		for _, c := range chunks[:n] {
			b.Events = append(b.Events, c.Event)
		}
		h, r, err := store.Next(&k.header, b, 1)
		if err != nil {
			t.Fatal(err)
		}
		f.Publish(chunks[:n])
		k.header, k.log = h, append(k.log, b.Number(r)...)
		if diff := cmp.Diff(k.whole(k.fold()), k.whole(f)); diff != "" {
			t.Errorf("early %t: what was published is not what is read (-log +published):\n%s", early, diff)
		}
		k.ends("c1.1", rules.RunEnded{Chunks: 3, Last: chunks[n:], Result: []byte(`"done"`)})
		last := 0
		for _, e := range k.log {
			if e.Kind == "artifact" && bytes.Contains(e.Data, []byte(`"artifactId":"c1.1"`)) && bytes.Contains(e.Data, []byte(`"lastChunk":true`)) {
				last++
			}
		}
		if last != 1 {
			t.Errorf("early %t: %d chunks are the last one", early, last)
		}
		shown := string(k.fold().View.AppendTask(nil, task.ViewOptions{}))
		for _, want := range []string{`"parts":[{"text":"one"},{"data":{"two":2}},{"text":"three"}]`, `"parts":[{"text":"kept"},{"data":{"a":1}}]`} {
			if !strings.Contains(shown, want) {
				t.Errorf("early %t: the task is %s, want %s in it", early, shown, want)
			}
		}
	}
}

// A piece that does not fit into an event is refused, and an artifact needs a name.
func TestPublishingIsBounded(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "run"})
	k.begin(task.PlannedCall{Tool: "run"})
	p := k.fold().Publisher(presents, 1000)
	for size, fits := range map[int]bool{500: true, 1000: false} {
		text := fmt.Sprintf("%0*d", size, 0)
		if _, err := p.Chunk(k.now, "c1.1", "run", output.Chunk{Content: content(t, text), First: true}); (err == nil) != fits {
			t.Errorf("a chunk of %d bytes = %v", size, err)
		}
		if _, err := p.Artifact(k.now, "c1.1", "a", []agent.Part{{Text: text}}); (err == nil) != fits {
			t.Errorf("an artifact of %d bytes = %v", size, err)
		}
	}
	if _, err := p.Artifact(k.now, "c1.1", "", []agent.Part{{Text: "x"}}); err == nil {
		t.Error("an artifact without a name is taken")
	}
	if _, err := p.Artifact(k.now, "c1.1", "a", nil); err == nil {
		t.Error("an artifact without parts is taken")
	}
}

func content(t testing.TB, v any) output.Content {
	t.Helper()
	c, err := (&fold.Fold{View: &task.View{}}).Publisher(presents, 1<<20).Content(v)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The error of a piece is its own, whatever the metadata that its tool has given it.
func TestErrorOfAPieceWins(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "run"})
	k.begin(task.PlannedCall{Tool: "run"})
	p := k.fold().Publisher(presents, 1<<20)
	for name, metadata := range map[string]map[string]any{
		"none":                nil,
		"an error of its own": {"n": 1, task.ErrorKey: "all is well"},
	} {
		before := maps.Clone(metadata)
		c, err := p.Chunk(k.now, "c1.1", "run", output.Chunk{Content: content(t, "one"), First: true, Error: "half is missing", Metadata: metadata})
		if err != nil {
			t.Fatal(err)
		}
		if want := `"` + task.ErrorKey + `":"half is missing"`; !strings.Contains(string(c.Event.Data), want) {
			t.Errorf("%s: the event is %s, want %s in it", name, c.Event.Data, want)
		}
		if diff := cmp.Diff(before, metadata); diff != "" {
			t.Errorf("%s: the metadata of the tool has changed:\n%s", name, diff)
		}
	}
}

// What a run has published last is put again if the batch with it conflicts: it is then
// what it was the first time.
func TestLastChunksArePutAgain(t *testing.T) {
	t.Parallel()
	k := waker(t, question("one", "which?"))
	k.wakes()
	p := k.fold().Publisher(presents, 1<<20)
	progress, err := k.rules.Progress(p, k.now, "c1.1", "ask", "" /* job */, tool.Progress{Done: 1})
	if err != nil {
		t.Fatal(err)
	}
	ended := rules.RunEnded{Entry: k.running["c1.1"], Chunks: 3, Last: []output.RunEvent{progress}, Result: []byte(`1`)}
	for i, text := range []string{"a", "b", "c"} {
		chunk, err := p.Chunk(k.now, "c1.1", "ask", output.Chunk{Content: content(t, text), First: i == 0})
		if err != nil {
			t.Fatal(err)
		}
		ended.Last = append(ended.Last, chunk)
	}
	events := func() (all []string) {
		d, err := rules.On(k.rules, k.at(), k.fold(), ended)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range d.Batch(store.System(), nil).Events {
			all = append(all, e.Kind+" "+string(e.Data))
		}
		return all
	}
	if diff := cmp.Diff(events(), events()); diff != "" {
		t.Errorf("the same end of a run makes other events the second time (-first +second):\n%s", diff)
	}
}

// A hook sees the context of the run, not that of whoever has made the call enter, which may
// have ended long ago.
func TestHookSeesTheContextOfTheRun(t *testing.T) {
	t.Parallel()
	type key struct{}
	ofRun := context.WithValue(t.Context(), key{}, "run")
	var seen []agent.ReadonlyContext
	look := func(ctx agent.ReadonlyContext, _ tool.ToolCall, r *task.Result) error {
		seen = append(seen, ctx)
		r.Error = ""
		r.Content = []byte(`1`)
		return nil
	}
	k := newDesk(t, func(r *rules.Rules) {
		r.ErrorHooks, r.AfterHooks = []task.AfterHook{look}, []task.AfterHook{look}
	}, &fake{name: "card"})
	k.begin(task.PlannedCall{Tool: "card"})
	entry := k.running["c1.1"]
	checked := *entry.Context
	rules.After(ofRun, k.rules, &rules.RunEnded{Entry: entry, Err: errors.New("no card")})
	for _, ctx := range seen {
		if ctx.Value(key{}) != "run" || ctx.TaskID() != checked.TaskID() || ctx.UserID() != checked.UserID() {
			t.Errorf("a hook sees %v of task %s", ctx.Value(key{}), ctx.TaskID())
		}
	}
	if len(seen) != 2 || entry.Context.Value(key{}) != nil {
		t.Errorf("%d hooks have run, and the context of the entry has %v; want 2, and what it had", len(seen), entry.Context.Value(key{}))
	}
}

// What a hook has left is the server's own: a hook may use its buffer again at once.
func TestHookKeepsItsBuffer(t *testing.T) {
	t.Parallel()
	buffer := []byte(`{"card":"****"}`)
	k := newDesk(t, func(r *rules.Rules) {
		r.AfterHooks = []task.AfterHook{func(_ agent.ReadonlyContext, _ tool.ToolCall, r *task.Result) error {
			r.Content = buffer
			return nil
		}}
	}, &fake{name: "card"})
	k.begin(task.PlannedCall{Tool: "card"})
	ended := rules.RunEnded{Entry: k.running["c1.1"], Result: []byte(`1`)}
	rules.After(t.Context(), k.rules, &ended)
	copy(buffer, `{"card":"4111"}`)
	if string(ended.Result) != `{"card":"****"}` {
		t.Errorf("the result became %s", ended.Result)
	}
}
