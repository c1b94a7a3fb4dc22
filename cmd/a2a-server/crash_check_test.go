//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/store/boltstore"
)

// ledgerOf counts the lines of the ledger by who got the money. A line that was being
// written when the process was killed is whole or not there.
func ledgerOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for line := range bytes.Lines(text) {
		var e struct{ Args struct{ To string } }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Errorf("the ledger has a line %q: %v", line, err)
		}
		runs[e.Args.To]++
	}
	return runs
}

// checkLedger compares what tools did with what the client allowed, at any time.
func checkLedger(t *testing.T, dir string, scenes []*scene) {
	t.Helper()
	runs := ledgerOf(t, dir)
	for _, s := range scenes {
		allowed := 0
		for _, verb := range s.tried {
			if verb == "approve" {
				allowed++ // the first about the call, the others about running it again
			}
		}
		if n := runs[s.name]; n > allowed {
			t.Errorf("%s: money was transferred %d times, allowed were %d", s.name, n, allowed)
		}
		if n := runs[s.name]; s.verb == "approve" && s.final == completed && !s.unknown && n != 1 {
			t.Errorf("%s: money was transferred %d times, and nobody was asked what came of it", s.name, n)
		}
	}
}

// checkAudit checks that each approval is reminded of, escalated and resolved at most once, and that
// nothing follows its end.
func checkAudit(t *testing.T, dir string) {
	t.Helper()
	db, err := boltstore.Open(filepath.Join(dir, "tasks.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := h.Audit(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{} // by approval
	for _, entry := range entries {
		a, err := approval.DecodeAudit(entry.Data)
		if err != nil {
			t.Fatal(err)
		}
		if a.What != approval.AuditReminded && a.What != approval.AuditEscalated && a.What != approval.AuditResolved {
			continue
		}
		if before := seen[a.Approval]; strings.Contains(before, string(a.What)) || strings.Contains(before, string(approval.AuditResolved)) {
			t.Errorf("approval %s is %s after%s", a.Approval, a.What, before)
		}
		seen[a.Approval] += " " + string(a.What)
	}
}

// checkEnd looks at everything when all scenes are at their end.
func checkEnd(ctx context.Context, t *testing.T, c *client, scenes []*scene) {
	t.Helper()
	var list struct {
		Tasks     []taskState
		TotalSize int
	}
	if err := c.call(ctx, "ListTasks", object{"pageSize": 100}, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Tasks) != len(scenes) || list.TotalSize != len(scenes) {
		t.Errorf("there are %d tasks, listed as %d, of %d messages", len(list.Tasks), list.TotalSize, len(scenes))
	}
	for i := range list.Tasks {
		if got := &list.Tasks[i]; !got.Status.ended() {
			t.Errorf("task %s is still %s", got.ID, got.Status.State)
		}
	}
	for _, s := range scenes {
		var got taskState
		if err := c.call(ctx, "GetTask", object{"id": s.id}, &got); err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		if got.Status.State != s.final {
			t.Errorf("%s: was seen to end in %s and is %s", s.name, s.final, got.Status.State)
		}
		if s.final != s.want && !s.unknown {
			t.Errorf("%s: ended in %s, want %s", s.name, s.final, s.want)
		}
		s.checkStream(ctx, t, c, &got)
	}
}

// checkStream compares what a client saw, over several processes, with what the log
// says now: the same events, and the artifacts that come of them.
func (s *scene) checkStream(ctx context.Context, t *testing.T, c *client, got *taskState) {
	t.Helper()
	if len(s.frames) > 0 {
		seen := s.frames[1:]
		var log []frame
		err := c.stream(ctx, "SubscribeToTask", object{"id": s.id}, s.frames[0].id, func(f frame) error {
			log = append(log, f)
			return nil
		})
		if err != nil {
			t.Errorf("%s: replay: %v", s.name, err)
		}
		for i := range min(len(seen), len(log)) {
			if seen[i].id != log[i].id || seen[i].data != log[i].data {
				t.Errorf("%s: event %d was shown as %s %s and is %s %s", s.name, i+1, seen[i].id, seen[i].data, log[i].id, log[i].data)
				return
			}
		}
		// A client that was told of the end by an answer has not read up to it.
		if len(seen) > len(log) || len(seen) < len(log) && seen != nil && lastEnded(seen) {
			t.Errorf("%s: %d events were shown, the log has %d", s.name, len(seen), len(log))
		}
		folded := fold(append(s.frames[:1:1], log...))
		for i := range got.Artifacts {
			if a := &got.Artifacts[i]; folded[a.ArtifactID] != a.text() {
				t.Errorf("%s: artifact %s is %q, its events say %q", s.name, a.ArtifactID, a.text(), folded[a.ArtifactID])
			}
		}
	}
	if s.calls[0]["tool"] != "stream" || s.final != completed {
		return
	}
	args, _ := s.calls[0]["args"].(object)
	chunks, _ := args["chunks"].(int)
	want := strings.Repeat(streamLine, chunks*streamSize/len(streamLine)+1)[:chunks*streamSize]
	for i := range got.Artifacts {
		if got.Artifacts[i].text() == want {
			return
		}
	}
	t.Errorf("%s: no artifact has the whole text of %d chunks: %+v", s.name, chunks, got.Artifacts)
}

func lastEnded(seen []frame) bool {
	if len(seen) == 0 {
		return false
	}
	e := seen[len(seen)-1].event.StatusUpdate
	return e != nil && e.Status.ended()
}

// fold returns the texts of artifacts after a stream.
func fold(frames []frame) map[string]string {
	texts := map[string]string{}
	for i := range frames {
		switch e := frames[i].event; {
		case e.Task != nil:
			for j := range e.Task.Artifacts {
				a := &e.Task.Artifacts[j]
				texts[a.ArtifactID] = a.text()
			}
		case e.ArtifactUpdate != nil:
			a := &e.ArtifactUpdate.Artifact
			if !e.ArtifactUpdate.Append {
				texts[a.ArtifactID] = ""
			}
			texts[a.ArtifactID] += a.text()
		}
	}
	return texts
}
