package event

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/golden"
	"a2a-server/tool"
)

// TestGoldenEvents holds each kind of private event to its file.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	by := auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{"approver"}, Chain: []string{"agent"}, Method: "test"}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	resolution := approval.Resolution{
		Decision: approval.Edit, By: by, Via: "a2a", At: at, Reason: "too much", Args: raw(`{"amount":5}`),
		Digest: "d2", Response: raw(`"r"`), Payload: raw(`{"p":1}`),
	}
	resolution.Grant = &approval.Granted{ID: "g1", GrantRequest: approval.GrantRequest{Scope: approval.GrantContext, For: time.Hour, Uses: 3, Exact: true}}
	waits := []tool.Waiting{{ID: "bank/t.a1", Agent: "bank", WaitsFor: "finance", Since: at, Expires: at.Add(time.Hour)}}
	for kind, v := range map[string]any{
		KindMessage:   &MessageReceived{Message: raw(`{"messageId":"m1","parts":[{"text":"hi"}],"role":"ROLE_USER"}`), Hash: "00ff", By: by, For: ForPlanner},
		KindPlanned:   &StepPlanned{Step: 2, Calls: []PlannedCall{{ID: "c2.1", Tool: "transfer", Args: raw(`{"amount":1}`), Alias: "call-1", Mask: []string{"/amount"}, MaskTask: true}}, Ask: &PlannedAsk{Auth: true}, Until: &at, State: raw(`{"at":1}`)},
		KindElapsed:   &WaitElapsed{Step: 2},
		KindVoted:     &ApprovalVoted{ID: "t.a1", Vote: approval.Vote{By: by, Via: "api", At: at, Digest: "d1", Reason: "seen", Meets: []int{0, 1}}},
		KindResolved:  &ApprovalResolved{ID: "t.a1", State: approval.Edited, Resolution: resolution},
		KindKept:      &ApprovalKept{ID: "t.a1", At: at},
		KindReminded:  &ApprovalReminded{ID: "t.a1", At: at},
		KindEscalated: &ApprovalEscalated{ID: "t.a1", At: at},
		KindExtended:  &ApprovalExtended{ID: "t.a1", Until: at.Add(time.Hour), At: at, By: by},
		KindStarted:   &CallStarted{Call: "c2.1", Attempt: 2, Digest: "d1", Grant: "g1", Args: raw(`{"amount":5}`), Tool: "d2", Safe: true},
		KindSuspended: &CallSuspended{Call: "c2.1", N: 3, State: raw(`{"n":1}`), Asks: []SuspendedAsk{{Ask: "ab.1", Approval: "t.a2"}}, Wake: &at, Again: true, Output: 7, Watch: true, Waits: waits},
		KindResumed:   &CallResumed{Call: "c2.1", N: 3, Tool: "d2", Safe: true},
		KindLooked:    &CallLooked{Call: "c2.1", Waits: waits},

		KindFinished:  &CallFinished{Call: "c2.1", Outcome: OutcomeOK, Result: raw(`{"ok":true}`), Error: "e", Delta: map[string]any{"k": "v"}},
		KindUnknown:   &CallUnknown{Call: "c2.1", Why: "the server stopped while it ran", Cause: CauseDied},
		KindPostponed: &CallPostponed{Call: "c2.1", N: 2, Why: "down", Since: at, Until: at},
		KindOpened:    &ApprovalOpened{ID: "t.a1", Why: "silent"},
		KindLate:      &CallLate{Call: "c2.1", Result: raw(`{"ok":true}`), Error: "e"},
		KindFailed:    &TurnFailed{Error: "e"},

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
			Terms:     approval.Terms{Gate: "r", Expires: time.Hour, OnExpiry: approval.ExpiryKeeps, Allowed: []approval.DecisionType{approval.Approve}, FourEyes: true, Elsewhere: true, Destructive: true, NoText: true, CancelsTask: true, Human: true, Needs: []approval.Need{{Gate: "s", People: 1, Approvers: &approval.Approvers{Roles: []string{"finance"}}}}},
			Requester: by, Asked: at, Deadline: &at, Supersedes: "t.a0", Votes: []approval.Vote{{By: by, Via: "api", At: at, Digest: "d1", Meets: []int{0}}}, Resolution: &resolution,
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			made, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "events", kind+".json")
			got, err := Decode(kind, []byte(golden.File(t, path, string(made)+"\n")))
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

// An event of another version is refused.
func TestDecodeRefusesOtherVersions(t *testing.T) {
	t.Parallel()
	for kind, data := range map[string]string{"approval.requested.v2": `{"v":1}`, KindAsked: `{"v":2}`, "call.unknown.v2": `{}`} {
		if _, err := Decode(kind, []byte(data)); err == nil || !strings.Contains(err.Error(), "that wrote it") {
			t.Errorf("Decode(%s, %s) = %v, want the program to use", kind, data, err)
		}
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
	if len(files) != len(kinds) {
		t.Errorf("%d golden files, want one for each of the %d kinds", len(files), len(kinds))
	}
	for _, f := range files {
		kind := filepath.Base(f[:len(f)-len(".json")])
		if _, known := kinds[kind]; !known {
			t.Errorf("%s is of no kind", f)
		}
	}
}
