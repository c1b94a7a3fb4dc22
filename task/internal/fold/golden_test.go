package fold

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/golden"
	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/view"
)

// A snapshot reads, and writes, as its golden file; another version is refused.
func TestGoldenSnapshot(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	v := view.New("t", "c")
	v.AddMessage(json.RawMessage(`{"messageId":"m1","contextId":"c","parts":[{"text":"hi"}],"role":"ROLE_USER","taskId":"t"}`))
	v.Begin(&event.StatusUpdate{State: a2a.TaskStateSubmitted, At: store.MillisOf(at), Metadata: json.RawMessage(`{"k":1}`)})
	v.AddArtifact(&event.ArtifactUpdate{ID: "c1.1", Name: "stream", Parts: json.RawMessage(`{"text":"a"},{"data":{"b":1}}`), Metadata: json.RawMessage(`{"x":1}`)})
	v.SetStatus(a2a.TaskStateInputRequired, store.MillisOf(at), json.RawMessage(`{"messageId":"m2","parts":[{"text":"?"}],"role":"ROLE_AGENT"}`), nil /* masked */, json.RawMessage(`{"q":1}`))
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
	f.Webhooks, f.WebhooksSet = []webhookID{{"w1", 3}}, 4
	f.AuditKey = []byte("0123456789abcdef")
	f.Restored = []event.TaskRestored{{ID: "r1", Moment: at}}
	f.Approvals[0].Void, f.Steps[0].Progress[0].Restored = true, true
	f.Approvals[0].Terms.Needs = []approval.Need{{Gate: "g", People: 2}}
	f.Approvals[0].Votes = []approval.Vote{{By: auth.Principal{Subject: "bob"}, Via: approval.ViaAPI, At: at, Digest: "d1", Meets: []int{0}}}
	f.Approvals[0].Terms.Grants, f.Approvals[0].GrantKey = &approval.GrantTerms{Scopes: approval.GrantScopes()}, "e0"
	f.Steps[0].Progress[0].Grant = "g1"
	both := SnapshotParts{Fold: true, Artifacts: true}
	got, artifacts, err := f.Encode(both)
	if err != nil {
		t.Fatal(err)
	}
	kept := golden.File(t, filepath.Join("testdata", "snapshot"), string(got))
	keptArtifacts := golden.File(t, filepath.Join("testdata", "artifacts"), string(artifacts))
	back, err := Decode([]byte(kept), []byte(keptArtifacts), false /* viewOnly */)
	if err != nil {
		t.Fatal(err)
	}
	back.Header.Bytes = 1234
	again, againArtifacts, err := back.Encode(both)
	if err != nil || string(again) != kept || string(againArtifacts) != keptArtifacts {
		t.Errorf("read and written again: %v\n%s%s", err, cmp.Diff(kept, string(again)), cmp.Diff(keptArtifacts, string(againArtifacts)))
	}
	for _, version := range []byte{0, snapshotVersion + 1} {
		if _, err := Decode(append([]byte{version}, kept[1:]...), []byte(keptArtifacts), false /* viewOnly */); err == nil {
			t.Errorf("a snapshot of version %d is read", version)
		}
	}
}
