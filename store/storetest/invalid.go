package storetest

import (
	"errors"
	"testing"

	"a2a-server/store"
)

func invalidCases() []testCase {
	return []testCase{{"every shape that is none", testInvalid}}
}

type invalidBatch struct {
	name  string
	batch *store.Batch
}

// invalid are batches of shapes that the contract does not have; each is wrong in one
// way only.
func invalid(base store.TaskID) []invalidBatch {
	var batches []invalidBatch
	altered := func(shape string, fresh func() *store.Batch) func(name string, alter func(b *store.Batch)) {
		return func(name string, alter func(b *store.Batch)) {
			b := fresh()
			alter(b)
			batches = append(batches, invalidBatch{shape + " " + name, b})
		}
	}
	addRows := altered("rows", func() *store.Batch { return scopeRows(alice(), put("kind", "never", store.Any, "")) })
	addRows("with rev", func(b *store.Batch) { b.Rev = new(uint64(1)) })
	addRows("with rev 0", func(b *store.Batch) { b.Rev = new(uint64(0)) })
	addRows("with fence", func(b *store.Batch) { b.Fence = new(uint64(1)) })
	addRows("with events", func(b *store.Batch) { b.Events = mixed(1, "never") })
	addRows("with a snapshot", func(b *store.Batch) { b.Snapshot = &store.Snapshot{} })
	addRows("with a key", func(b *store.Batch) { b.Dedup = newHash() })
	addRows("with a bound", func(b *store.Batch) { b.Parked = 1 })
	addRows("with a bound of the disk", func(b *store.Batch) { b.Disk.All = 1 })
	addRows("with a due row at no time", func(b *store.Batch) { b.Due = []store.DueChange{dueAt(0, "never", "")} })
	addRows("of a tenant", func(b *store.Batch) { b.Scope = store.Tenant("acme") })
	addRows("of the system", func(b *store.Batch) { b.Scope = store.System() })

	addChunks := altered("chunks", func() *store.Batch { return chunks(base, 1, public("never")) })
	addChunks("without fence", func(b *store.Batch) { b.Fence = nil })
	addChunks("with rows", func(b *store.Batch) { b.Rows = []store.RowChange{put("kind", "never", store.Any, "")} })
	addChunks("with due rows", func(b *store.Batch) { b.Due = []store.DueChange{dueAt(1, "never", "")} })
	addChunks("with audit", func(b *store.Batch) { b.Audit = [][]byte{[]byte("never")} })
	addChunks("with a key", func(b *store.Batch) { b.Dedup = newHash() })
	addChunks("with a bound", func(b *store.Batch) { b.Parked = 1 })
	addChunks("with a bound of the disk", func(b *store.Batch) { b.Disk.Owner = 1 })

	addAside := altered("aside", func() *store.Batch { return aside(base, put("kind", "never", store.Any, "")) })
	addAside("with events", func(b *store.Batch) { b.Events = mixed(1, "never") })
	addAside("with a snapshot", func(b *store.Batch) { b.Snapshot = &store.Snapshot{} })
	addAside("with a key", func(b *store.Batch) { b.Dedup = newHash() })
	addAside("with a bound", func(b *store.Batch) { b.Parked = 1 })
	addAside("with a bound of the disk", func(b *store.Batch) { b.Disk.Owner = 1 })
	addAside("with a due row at no time", func(b *store.Batch) { b.Due = []store.DueChange{dueAt(0, "never", "")} })
	addAside("with rows of the context", func(b *store.Batch) { b.Rows[0].OfContext = true })
	addAside("with nothing", func(b *store.Batch) { b.Rows = nil })

	for name, c := range map[string]store.Change{
		"with context":    {Context: "context"},
		"with status":     {Status: status(2, 2000)},
		"with phase":      {Phase: store.Live},
		"that take fence": {TakeFence: true},
		"with pending":    {Pending: new(uint32(0))},
	} {
		addRows(name, func(b *store.Batch) { b.Change = c })
		addChunks(name, func(b *store.Batch) { b.Change = c })
		addAside(name, func(b *store.Batch) { b.Change = c })
	}

	addCreate := altered("create", func() *store.Batch { return rich(alice(), store.Live) })
	addCreate("without status", func(b *store.Batch) { b.Change.Status = nil })
	addCreate("without phase", func(b *store.Batch) { b.Change.Phase = 0 })
	addCreate("without both", func(b *store.Batch) { b.Change = store.Change{Context: "context"} })
	addCreate("that takes the fence", func(b *store.Batch) { b.Change.TakeFence = true })
	addCreate("with fence", func(b *store.Batch) { b.Fence = new(uint64(1)) })
	addCreate("with a bound and no context", func(b *store.Batch) { b.Parked, b.Change.Context = 1, "" })
	addCreate("with a snapshot", func(b *store.Batch) { b.Snapshot = &store.Snapshot{} })
	addCreate("of a tenant", func(b *store.Batch) { b.Scope = store.Tenant("acme") })
	addCreate("of the system", func(b *store.Batch) { b.Scope = store.System() })
	addCreate("with state 0", func(b *store.Batch) { b.Change.Status = status(0, 1) })
	addCreate("with a state after the last", func(b *store.Batch) { b.Change.Status = status(store.MaxState+1, 1) })
	addCreate("with a phase after the last", func(b *store.Batch) { b.Change.Phase = store.Final + 1 })

	addChange := altered("change", func() *store.Batch {
		b := change(base, 1, public("never"))
		b.Rows = []store.RowChange{put("kind", "never", store.Any, "")}
		return b
	})
	addChange("with context", func(b *store.Batch) { b.Change.Context = "context" })
	addChange("with a due row at no time", func(b *store.Batch) { b.Due = []store.DueChange{dueAt(1, "never", ""), dueAt(0, "never", "")} })
	addChange("with a due row before all time", func(b *store.Batch) { b.Due = []store.DueChange{dueAt(-1, "never", "")} })
	addChange("with a key", func(b *store.Batch) { b.Dedup = newHash() })
	addChange("with a bound", func(b *store.Batch) { b.Parked = 1 })
	addChange("with a bound of the disk", func(b *store.Batch) { b.Disk.Owner = 1 })
	addChange("with state 0", func(b *store.Batch) { b.Change.Status = status(0, 1) })
	addChange("with a state after the last", func(b *store.Batch) { b.Change.Status = status(store.MaxState+1, 1) })
	addChange("with a phase after the last", func(b *store.Batch) { b.Change.Phase = store.Final + 1 })
	return batches
}

func testInvalid(t *testing.T, f *fixture) {
	b := rich(alice(), store.Live)
	mustAppend(t, f.h[0], b)
	before := dump(t, f.h[0], []string{"kind"}, []string{"index"})
	batches := invalid(b.Task)
	for _, bad := range batches {
		for _, h := range f.h {
			if _, err := do(t.Context(), h, bad.batch); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s: Append() = %v, want %v", bad.name, err, store.ErrInvalid)
			}
		}
	}
	if d := diff(before, dump(t, f.h[1], []string{"kind"}, []string{"index"})); d != "" {
		t.Fatalf("contents after invalid batches (-want +got)\n%s", d)
	}
	// In one queue with good ones they fail alone.
	commits := make([][2]*store.Commit, len(batches))
	var log history
	log.add(b.Events...)
	for i, bad := range batches {
		e := public("beside %s", bad.name)
		log.add(e)
		commits[i] = [2]*store.Commit{f.h[1].Append(t.Context(), bad.batch), f.h[1].Append(t.Context(), chunks(b.Task, 1, e))}
	}
	for i, bad := range batches {
		if _, err := await(commits[i][0]); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: Append() = %v, want %v", bad.name, err, store.ErrInvalid)
		}
		if _, err := await(commits[i][1]); err != nil {
			t.Errorf("beside %s: Append() = %v, want nil", bad.name, err)
		}
	}
	f.checkLog(t, b.Task, log.events)
}
