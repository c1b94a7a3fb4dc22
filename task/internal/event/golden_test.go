package event

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/tool"
)

var update = flag.Bool("update", false, "write golden files of kinds that have none")

// TestGoldenEvents holds each kind of private event to the file of its first
// writing: what was written once must decode forever. A kind without a file, and a
// field without a value in the file, fail: a change of shape is a new version.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	by := auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{"approver"}, Chain: []string{"agent"}, Method: "test"}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	resolution := approval.Resolution{
		Decision: approval.Edit, By: by, Via: "a2a", At: at, Reason: "too much", Args: raw(`{"amount":5}`),
		Digest: "d2", Response: raw(`"r"`), Payload: raw(`{"p":1}`),
	}
	granted := resolution
	granted.Grant = &approval.Granted{ID: "g1", GrantRequest: approval.GrantRequest{Scope: approval.GrantContext, For: time.Hour, Uses: 3, Exact: true}}
	waits := []tool.Waiting{{ID: "bank/t.a1", Agent: "bank", WaitsFor: "finance", Since: at, Expires: at.Add(time.Hour)}}
	for name, v := range map[string]any{
		KindResolved + "+grant": &ApprovalResolved{ID: "t.a1", State: approval.Approved, Resolution: granted},
		KindPlanned + "+mask":   &StepPlanned{Step: 2, Calls: []PlannedCall{{ID: "c2.1", Tool: "transfer", Args: raw(`{"amount":1}`), Mask: []string{"/amount"}, MaskTask: true}}},
		KindStarted + "+tool":   &CallStarted{Call: "c2.1", Attempt: 1, Tool: "d2", Safe: true},
		KindResumed + "+tool":   &CallResumed{Call: "c2.1", N: 3, Tool: "d2", Safe: true},
		KindStarted + "+grant":  &CallStarted{Call: "c2.1", Attempt: 1, Digest: "d1", Grant: "g1"},

		KindMessage: &MessageReceived{Message: raw(`{"messageId":"m1","parts":[{"text":"hi"}],"role":"ROLE_USER"}`), Hash: "00ff", By: by, For: ForPlanner},
		KindPlanned: &StepPlanned{Step: 2, Calls: []PlannedCall{{ID: "c2.1", Tool: "transfer", Args: raw(`{"amount":1}`), Alias: "call-1"}}, Ask: &PlannedAsk{Auth: true}, Until: &at, State: raw(`{"at":1}`)},
		KindElapsed: &WaitElapsed{Step: 2},
		KindVoted:   &ApprovalVoted{ID: "t.a1", Vote: approval.Vote{By: by, Via: "api", At: at, Digest: "d1", Reason: "seen", Meets: []int{0, 1}}},
		KindAskedV2: &approval.Approval{
			V: 2, ID: "t.a1", Kind: approval.KindCall, State: approval.Pending, Task: "t", Context: "c", Call: "c2.1", Agent: "a2a-server", Tool: "transfer",
			Definition: "def", Args: raw(`{"amount":1}`), Digest: "d1", Hint: "really?",
			Terms: approval.Terms{Gate: "r", Human: true, Needs: []approval.Need{
				{Gate: "r", People: 2}, {Gate: "s", People: 1, Approvers: &approval.Approvers{Roles: []string{"finance"}, Subjects: []string{"key:dora"}}},
			}},
			Requester: by, Asked: at, Votes: []approval.Vote{{By: by, Via: "api", At: at, Digest: "d1", Meets: []int{0}}},
		},
		KindResolved:  &ApprovalResolved{ID: "t.a1", State: approval.Edited, Resolution: resolution},
		KindKept:      &ApprovalKept{ID: "t.a1", At: at},
		KindReminded:  &ApprovalReminded{ID: "t.a1", At: at},
		KindEscalated: &ApprovalEscalated{ID: "t.a1", At: at},
		KindExtended:  &ApprovalExtended{ID: "t.a1", Until: at.Add(time.Hour), At: at, By: by},
		KindStarted:   &CallStarted{Call: "c2.1", Attempt: 2, Digest: "d1", Args: raw(`{"amount":5}`)},
		KindSuspended: &CallSuspended{Call: "c2.1", N: 3, State: raw(`{"n":1}`), Asks: []SuspendedAsk{{Ask: "ab.1", Approval: "t.a2"}}, Wake: &at},
		KindResumed:   &CallResumed{Call: "c2.1", N: 3},
		KindLooked:    &CallLooked{Call: "c2.1", Waits: waits},

		KindSuspended + "+waits": &CallSuspended{Call: "c2.1", N: 3, Wake: &at, Watch: true, Waits: waits},
		KindFinished:             &CallFinished{Call: "c2.1", Outcome: OutcomeOK, Result: raw(`{"ok":true}`), Error: "e", Delta: map[string]any{"k": "v"}},
		KindUnknown:              &CallUnknown{Call: "c2.1", Why: "the server stopped while it ran", Cause: CauseDied},
		KindUnknownV1:            &CallUnknown{Call: "c2.1", Why: "the server stopped while it ran", Cause: CauseDied},
		KindPostponed:            &CallPostponed{Call: "c2.1", N: 2, Why: "down", Since: at, Until: at},
		KindOpened:               &ApprovalOpened{ID: "t.a1", Why: "silent"},
		KindLate:                 &CallLate{Call: "c2.1", Result: raw(`{"ok":true}`), Error: "e"},
		KindFailed:               &TurnFailed{Error: "e"},

		KindCallCancel: &CallCancel{Call: "c2.1", By: by, Via: "a2a"},
		KindCheckpoint: &CallCheckpoint{Call: "c2.1", State: raw(`{"job":7}`)},

		KindAuditKey: &AuditKey{Key: []byte("0123456789abcdef")},
		KindRestored: &TaskRestored{ID: "r1", Moment: at},

		KindPushSet:     &PushSet{ID: "w1", N: 3, By: by},
		KindPushDeleted: &PushDeleted{ID: "w1", By: by},

		KindAsked: &approval.Approval{
			V: 1, ID: "t.a1", Kind: approval.KindCall, State: approval.Pending, Task: "t", Context: "c", Call: "c2.1", Alias: "call-1",
			Agent: "a2a-server", Tool: "transfer", Definition: "def", Args: raw(`{"amount":1}`), Digest: "d1", Hint: "really?", Payload: raw(`{"p":1}`),
			Ask: "ab.1", AskKind: "confirm", Schema: raw(`{"type":"object"}`), Attempt: 1,
			Terms:     approval.Terms{Gate: "r", Expires: time.Hour, OnExpiry: approval.ExpiryKeeps, Allowed: []approval.DecisionType{approval.Approve}, FourEyes: true, Elsewhere: true, Destructive: true, NoText: true, CancelsTask: true},
			Requester: by, Asked: at, Deadline: &at, Supersedes: "t.a0", Resolution: &resolution,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(name, "+") // and a member that was added to it
			path := filepath.Join("testdata", "events", name+".json")
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
			got, err := Decode(kind, golden)
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
	files = slices.DeleteFunc(files, func(name string) bool { return strings.Contains(name, "+") })
	if len(files) != len(kinds) {
		t.Errorf("%d golden files, want one for each of the %d kinds", len(files), len(kinds))
	}
	for _, f := range files {
		kind := filepath.Base(f[:len(f)-len(".json")])
		if _, err := Decode(kind, []byte("{}")); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
