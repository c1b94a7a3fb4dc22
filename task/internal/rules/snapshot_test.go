package rules_test

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
)

// A snapshot is due when more has come than the last one has: only events count, so
// that all snapshots of a log together are never much more than the log.
func TestSnapshotsAreAsRareAsTheyAreLarge(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "run"})
	k.begin(task.PlannedCall{Tool: "run"})
	f := k.fold()
	p := f.Publisher(presents, 1<<20)
	text := strings.Repeat("x", 4<<10)
	events, snapshots, n := 0, 0, 0
	for i := range 500 {
		c, err := p.Chunk(k.now, "c1.1", "run", output.Chunk{Content: content(t, text), First: i == 0})
		if err != nil {
			t.Fatal(err)
		}
		f.Publish([]output.RunEvent{c})
		events += len(c.Event.Data)
		due := f.WantsSnapshot(true /* chunks */)
		if !due.Fold {
			continue
		}
		b, artifacts, err := f.Encode(due)
		if err != nil {
			t.Fatal(err)
		}
		f.Snapshotted(due, len(b))
		snapshots += len(b) + len(artifacts)
		n++
	}
	if n < 5 || n > 12 || snapshots > 2*events {
		t.Errorf("%d snapshots of %d KiB for %d KiB of events, want one each time that the log has doubled", n, snapshots>>10, events>>10)
	}
	const large = 100 << 10
	f.Snapshotted(fold.SnapshotParts{Fold: true}, large)
	since := 0
	for !f.WantsSnapshot(false /* chunks */).Fold && since < 2*large {
		c, err := p.Chunk(k.now, "c1.1", "run", output.Chunk{Content: content(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		f.Publish([]output.RunEvent{c})
		since += len(c.Event.Data)
	}
	if since < large || since > large+16<<10 {
		t.Errorf("after a snapshot of %d KiB the next one is due after %d KiB of events", large>>10, since>>10)
	}
	if f.Snapshotted(fold.SnapshotParts{Fold: true, Artifacts: true}, 0); f.WantsSnapshot(false /* chunks */) != (fold.SnapshotParts{}) {
		t.Error("a snapshot that could not be made is tried again at once")
	}
}

// What a View has let go of is read back at the next step, but seldom amid a stream, which
// would have to wait for the disk.
func TestStreamIsSeldomReadBack(t *testing.T) {
	t.Parallel()
	const size = 64 << 10
	k := newDesk(t, nil, &fake{name: "run"})
	k.begin(task.PlannedCall{Tool: "run"})
	f := k.fold()
	p := f.Publisher(presents, 1<<20)
	both := fold.SnapshotParts{Fold: true, Artifacts: true}
	var at []uint64 // bytes of the log when the artifacts had to be read back
	for i := range (9 << 20) / size {
		c, err := p.Chunk(k.now, "c1.1", "run", output.Chunk{Content: content(t, strings.Repeat("x", size)), First: i == 0})
		if err != nil {
			t.Fatal(err)
		}
		f.Publish([]output.RunEvent{c})
		f.View.Lighten(4 * size)
		if f.Header.Bytes >= 1<<20 && len(at) == 0 && f.WantsSnapshot(false /* chunks */) != both {
			t.Fatalf("at %d bytes, the next step makes no snapshot", f.Header.Bytes)
		}
		due := f.WantsSnapshot(true /* chunks */)
		if due.Artifacts && !f.Has(due) {
			at = append(at, f.Header.Bytes)
		}
		if due.Fold {
			f.Snapshotted(due, 1)
		}
	}
	if len(at) != 2 || at[0] < 4<<20 || at[0] > 5<<20 || at[1] < 2*at[0] {
		t.Errorf("the task was read back at %d bytes, want once at 4 MiB and once when it had doubled", at)
	}
}

// A planner's output ends its task when the log has no room for it, and the log stays
// within its limit.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 40_000)
	for name, output := range map[string][]task.Output{
		"status":   {{Status: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))}},
		"metadata": {{Metadata: map[string]any{"a": text}}},
		"artifact": {{Artifact: &task.ArtifactPiece{ID: "a", Parts: []*a2a.Part{a2a.NewTextPart(text)}}}},
		"nothing":  make([]task.Output, 300),
	} {
		k := newDesk(t, smallLog)
		for range 60 {
			k.planner.list = append(k.planner.list, &task.Step{Output: output})
		}
		k.beginAs()
		if k.wantState(a2a.TaskStateFailed); k.header.Bytes > 1<<20 {
			t.Errorf("%s: the log has %d KiB", name, k.header.Bytes>>10)
		}
	}
}
