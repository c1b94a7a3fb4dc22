package task

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/internal/auth"
	"a2a-server/store"
)

var update = flag.Bool("update", false, "write golden files of kinds that have none")

// TestGoldenEvents holds each kind of private event to the file of its first
// writing: what was written once must decode for ever. A kind without a file, and a
// field without a value in the file, fail: a change of shape is a new version.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	by := auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{"approver"}, Chain: []string{"agent"}, Method: "test"}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	resolution := approval.Resolution{
		Verb: approval.Edit, By: by, Via: "a2a", At: at, Reason: "too much", Args: raw(`{"amount":5}`),
		Digest: "d2", Response: raw(`"r"`), Payload: raw(`{"p":1}`),
	}
	for kind, v := range map[string]any{
		kindMessage:   &messageReceived{Message: raw(`{"messageId":"m1","parts":[{"text":"hi"}],"role":"ROLE_USER"}`), Hash: "00ff", By: by, For: forPlanner},
		kindPlanned:   &stepPlanned{Step: 2, Calls: []plannedCall{{ID: "c2.1", Tool: "transfer", Args: raw(`{"amount":1}`), Alias: "call-1"}}, Ask: &plannedAsk{Auth: true}, Until: &at, State: raw(`{"at":1}`)},
		kindElapsed:   &waitElapsed{Step: 2},
		kindResolved:  &approvalResolved{ID: "t.a1", State: approval.Edited, Resolution: resolution},
		kindKept:      &approvalKept{ID: "t.a1", At: at},
		kindStarted:   &callStarted{Call: "c2.1", Attempt: 2, Digest: "d1", Args: raw(`{"amount":5}`)},
		kindSuspended: &callSuspended{Call: "c2.1", N: 3, State: raw(`{"n":1}`), Asks: []suspendedAsk{{Ask: "ab.1", Approval: "t.a2"}}, Wake: &at},
		kindResumed:   &callResumed{Call: "c2.1", N: 3},
		kindFinished:  &callFinished{Call: "c2.1", Outcome: OutcomeOK, Result: raw(`{"ok":true}`), Error: "e", Delta: map[string]any{"k": "v"}},
		kindUnknown:   &callUnknown{Call: "c2.1", Why: "the server stopped while it ran"},
		kindLate:      &callLate{Call: "c2.1", Result: raw(`{"ok":true}`), Error: "e"},
		kindFailed:    &turnFailed{Error: "e"},
		kindAsked: &approval.Approval{
			V: 1, ID: "t.a1", Kind: approval.KindCall, State: approval.Pending, Task: "t", Context: "c", Call: "c2.1", Alias: "call-1",
			Agent: "a2a-server", Tool: "transfer", Definition: "def", Args: raw(`{"amount":1}`), Digest: "d1", Hint: "really?", Payload: raw(`{"p":1}`),
			Ask: "ab.1", AskKind: "confirm", Schema: raw(`{"type":"object"}`), Attempt: 1,
			Terms:     approval.Terms{Rule: "r", Expires: time.Hour, OnExpiry: approval.ExpiryKeeps, Allowed: []approval.Verb{approval.Approve}, FourEyes: true, Elsewhere: true, Destructive: true, NoText: true, CancelsTask: true},
			Requester: by, Asked: at, Deadline: &at, Supersedes: "t.a0", Resolution: &resolution,
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "events", kind+".json")
			golden, err := os.ReadFile(path)
			if os.IsNotExist(err) && *update {
				golden, _ = json.MarshalIndent(v, "", "  ")
				if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
					err = os.WriteFile(path, append(golden, '\n'), 0o600)
				}
			}
			if err != nil {
				t.Fatalf("%v: a kind of event needs a golden file: run with -update once", err)
			}
			got, err := decodePrivate(kind, golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(canonical(t, v), canonical(t, got)); diff != "" {
				t.Errorf("%s decodes differently (-want +got):\n%s", path, diff)
			}
			if reflect.ValueOf(got).Elem().IsZero() {
				t.Error("nothing was decoded")
			}
		})
	}
}

func canonical(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var x any
	if err := json.Unmarshal(data, &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// Every kind that the fold knows has a golden file, and no file is of no kind.
func TestGoldenComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "events", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 13 {
		t.Errorf("%d golden files, want 13", len(files))
	}
	for _, f := range files {
		kind := filepath.Base(f[:len(f)-len(".json")])
		if _, err := decodePrivate(kind, []byte("{}")); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// The state table: every move that is not in it is refused.
func TestStates(t *testing.T) {
	t.Parallel()
	legal := 0
	for from := range stateRejected + 2 {
		for to := range stateRejected + 2 {
			if !allowed(from, to) {
				continue
			}
			legal++
			if stateName(from).Terminal() {
				t.Errorf("a task may leave %s", stateName(from))
			}
			if to == stateSubmitted && from != 0 || to == stateUnspecified {
				t.Errorf("a task may go from %s to %s", stateName(from), stateName(to))
			}
		}
	}
	if legal != 1+3*7+7 {
		t.Errorf("%d moves are legal, want %d", legal, 1+3*7+7)
	}
	for s := stateUnspecified; s <= stateAuthRequired; s++ {
		if back, err := stateOf(stateName(s)); err != nil || back != s {
			t.Errorf("stateOf(%s) = %d, %v, want %d", stateName(s), back, err, s)
		}
	}
}

// A snapshot of the version that is written now reads, and writes, as the file of its
// first writing: another form is another version.
func TestGoldenSnapshot(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	v := newView("t", "c")
	v.addMessage(json.RawMessage(`{"messageId":"m1","contextId":"c","parts":[{"text":"hi"}],"role":"ROLE_USER","taskId":"t"}`))
	v.begin(&statusUpdate{State: a2a.TaskStateSubmitted, At: store.MillisOf(at), Metadata: json.RawMessage(`{"k":1}`)})
	v.addArtifact(&artifactUpdate{ID: "c1.1", Name: "stream", Parts: json.RawMessage(`{"text":"a"},{"data":{"b":1}}`), Metadata: json.RawMessage(`{"x":1}`)})
	v.setStatus(a2a.TaskStateInputRequired, store.MillisOf(at), json.RawMessage(`{"messageId":"m2","parts":[{"text":"?"}],"role":"ROLE_AGENT"}`), json.RawMessage(`{"q":1}`))
	f := &fold{
		view: v, Owner: auth.Principal{Subject: "alice"}, State: map[string]any{"n": 1.0},
		Messages: []received{{Message: json.RawMessage(`{"messageId":"m1"}`), Hash: "00ff", For: forPlanner, Step: 1}},
		Steps: []*step{{
			stepPlanned: stepPlanned{Step: 1, Calls: []plannedCall{{ID: "c1.1", Tool: "transfer", Args: json.RawMessage(`{"amount":1}`)}}},
			Progress:    []*call{{plannedCall: plannedCall{ID: "c1.1", Tool: "transfer", Args: json.RawMessage(`{"amount":1}`)}, State: callAsked, Approval: "t.a1", Attempt: 1}},
		}},
		Approvals: []*pendingApproval{{Approval: approval.Approval{V: 1, ID: "t.a1", Kind: approval.KindCall, State: approval.Pending, Asked: at}, Row: 1}},
	}
	got, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", fmt.Sprintf("snapshot.v%d", snapshotVersion))
	golden, err := os.ReadFile(path)
	if os.IsNotExist(err) && *update {
		golden, err = got, os.WriteFile(path, got, 0o600)
	}
	if err != nil {
		t.Fatalf("%v: a version of snapshots needs a golden file: run with -update once", err)
	}
	if diff := cmp.Diff(string(golden), string(got)); diff != "" {
		t.Errorf("a snapshot is written in another form (-%s +now):\n%s", path, diff)
	}
	back, err := decodeSnapshot(golden, false /* viewOnly */)
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.encode()
	if err != nil || string(again) != string(golden) {
		t.Errorf("%s, read and written again: %v\n%s", path, err, cmp.Diff(string(golden), string(again)))
	}
}
