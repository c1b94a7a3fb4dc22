package fold

import (
	"a2a-server/task/internal/event"

	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/golden"
	"a2a-server/store"
	"a2a-server/task/internal/view"
)

// A snapshot of the version that is written now reads, and writes, as the file of its
// first writing: another form is another version.
func TestGoldenSnapshot(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	v := view.New("t", "c")
	v.AddMessage(json.RawMessage(`{"messageId":"m1","contextId":"c","parts":[{"text":"hi"}],"role":"ROLE_USER","taskId":"t"}`))
	v.Begin(&event.StatusUpdate{State: a2a.TaskStateSubmitted, At: store.MillisOf(at), Metadata: json.RawMessage(`{"k":1}`)})
	v.AddArtifact(&event.ArtifactUpdate{ID: "c1.1", Name: "stream", Parts: json.RawMessage(`{"text":"a"},{"data":{"b":1}}`), Metadata: json.RawMessage(`{"x":1}`)})
	v.SetStatus(a2a.TaskStateInputRequired, store.MillisOf(at), json.RawMessage(`{"messageId":"m2","parts":[{"text":"?"}],"role":"ROLE_AGENT"}`), json.RawMessage(`{"q":1}`))
	f := &Fold{View: v, saved: saved{
		Owner: auth.Principal{Subject: "alice"}, State: map[string]any{"n": 1.0},
		Messages: []received{{Message: json.RawMessage(`{"messageId":"m1"}`), Hash: "00ff", For: event.ForPlanner, Step: 1}},
		Steps: []*Step{{
			StepPlanned: event.StepPlanned{Step: 1, Calls: []event.PlannedCall{{ID: "c1.1", Tool: "transfer", Args: json.RawMessage(`{"amount":1}`)}}},
			Progress:    []*Call{{PlannedCall: event.PlannedCall{ID: "c1.1", Tool: "transfer", Args: json.RawMessage(`{"amount":1}`)}, State: CallAsked, Approval: "t.a1", Attempt: 1}},
		}},
		Approvals: []*Approval{{Approval: approval.Approval{V: 1, ID: "t.a1", Kind: approval.KindCall, State: approval.Pending, Asked: at}, Opened: true}},
	}}
	f.Header.Bytes = 1234
	f.checkGolden(t, 3) // it has no webhooks and no key
	f.Webhooks, f.WebhooksSet = []webhookID{{"w1", 3}}, 4
	f.checkGolden(t, 4)
	f.AuditKey = []byte("0123456789abcdef")
	f.checkGolden(t, 5)
	f.Restored = []event.TaskRestored{{ID: "r1", Moment: at}}
	f.Approvals[0].Void, f.Steps[0].Progress[0].Restored = true, true
	f.checkGolden(t, 6)
	f.Approvals[0].V, f.Approvals[0].Terms.Needs = 2, []approval.Need{{Gate: "g", People: 2}}
	f.Approvals[0].Votes = []approval.Vote{{By: auth.Principal{Subject: "bob"}, Via: approval.ViaAPI, At: at, Digest: "d1", Meets: []int{0}}}
	f.checkGolden(t, 7)
	f.Approvals[0].Terms.Grants, f.Approvals[0].GrantKey = &approval.GrantTerms{Scopes: approval.GrantScopes()}, "e0"
	f.Steps[0].Progress[0].Grant = "g1"
	f.checkGolden(t, snapshotVersion)
}

func (f *Fold) checkGolden(t *testing.T, version int) {
	t.Helper()
	both := SnapshotParts{Fold: true, Artifacts: true}
	got, artifacts, err := f.Encode(both)
	if err != nil {
		t.Fatal(err)
	}
	golden := goldenFile(t, fmt.Sprintf("snapshot.v%d", version), got)
	goldenArtifacts := goldenFile(t, "artifacts.v1", artifacts)
	back, err := Decode(golden, goldenArtifacts, false /* viewOnly */)
	if err != nil {
		t.Fatal(err)
	}
	back.Header.Bytes = 1234
	again, againArtifacts, err := back.Encode(both)
	if err != nil || string(again) != string(golden) || string(againArtifacts) != string(goldenArtifacts) {
		t.Errorf("read and written again: %v\n%s%s", err, cmp.Diff(string(golden), string(again)), cmp.Diff(string(goldenArtifacts), string(againArtifacts)))
	}
}

// goldenFile returns what a golden file has, which must be got.
func goldenFile(t *testing.T, name string, got []byte) []byte {
	t.Helper()
	return []byte(golden.File(t, filepath.Join("testdata", name), string(got)))
}

// A snapshot of an older version, of which a task may have one, still reads. It has the
// artifacts in it, and the next one of its task has to have them, too.
func TestGoldenSnapshotsOfBefore(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"snapshot.v1", "snapshot.v2"} {
		golden, err := os.ReadFile(filepath.Join("testdata", version))
		if err != nil {
			t.Fatal(err)
		}
		f, err := Decode(golden, nil /* artifacts */, false /* viewOnly */)
		if err != nil {
			t.Fatal(err)
		}
		if shown, err := f.View.Task(view.Options{}); err != nil || len(shown.Artifacts) != 1 {
			t.Errorf("%s: the task is %+v, %v, want 1 artifact", version, shown, err)
		}
		f.Header.Bytes, f.tail = 1<<20, 1<<20
		if due := f.WantsSnapshot(false /* chunks */); due != (SnapshotParts{Fold: true, Artifacts: true}) {
			t.Errorf("%s: due is %+v, want both parts", version, due)
		}
		f.ArtifactsAt = 1 << 20
		if due := f.WantsSnapshot(false /* chunks */); due != (SnapshotParts{}) {
			t.Errorf("%s: due is %+v, want none: it would be without the artifacts", version, due)
		}
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "snapshot.v1"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Decode(golden, nil /* artifacts */, false /* viewOnly */)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Pending()); n != 1 || f.Call("c1.1").State != CallAsked || f.View.State() != a2a.TaskStateInputRequired {
		t.Errorf("%d approvals wait in state %s, and the call is %s; want 1, input-required, asked", n, f.View.State(), f.Call("c1.1").State)
	}
}
