package approval

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
)

// The files of testdata are what has been written to disks. They are made once and
// never again: what does not fit them any more needs a new version.

func readGolden(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkGolden decodes the file into the type of want, and encodes want to the file.
func checkGolden[T any](t *testing.T, name string, want T) {
	t.Helper()
	data := readGolden(t, name)
	var got T
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("decode %s: %v", name, err)
	}
	// Raw JSON in the file is indented; what counts is the value.
	raw := cmp.Comparer(sameJSON)
	if diff := cmp.Diff(want, got, raw); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	out, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(out)+"\n"); diff != "" {
		t.Errorf("%s (-file +encoded):\n%s", name, diff)
	}
}

// checkFull fails for a field of v that is zero, so that the file shows all there are.
func checkFull(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	if v.IsZero() {
		t.Errorf("%s is not set: a golden file has every field", path)
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == "-" {
			continue // not stored
		}
		checkFull(t, v.Field(i), path+"."+v.Type().Field(i).Name)
	}
}

func fullPrincipal(subject string) auth.Principal {
	return auth.Principal{
		Tenant: "acme", Subject: subject, Person: subject + "@x", PersonSeen: true, Login: "corp:1", Mark: "1f", Kind: auth.KindService,
		Roles: []string{"ops"}, Chain: []string{"agent", "alice"}, Method: "bearer",
	}
}

// earlier returns p as it was stored before there were kinds and persons.
func earlier(p auth.Principal) auth.Principal {
	p.Person, p.PersonSeen, p.Login, p.Mark, p.Kind = "", false, "", "", ""
	return p
}

func fullApproval() Approval {
	end, told := asked().Add(time.Hour), asked().Add(time.Minute)
	return Approval{
		V: Version, ID: "task-1.a2", Kind: KindCall, State: Edited, Task: "task-1", Context: "ctx-1", Call: "c1.2", Alias: "adk-7",
		Agent: "bank", Tool: "transfer", Definition: "def0", Args: json.RawMessage(`{"to":"bob","amount":100}`), Digest: "d1",
		About: &About{Description: "Sends money.", Declared: []string{"destructive"}, Claimed: []string{"open world"}},
		Hint:  "Send 100 to bob?", Payload: json.RawMessage(`{"fee":1}`), TakesPayload: true, Ask: "fee", AskKind: AskConfirm, Held: true,
		Schema: json.RawMessage(`{"type":"object"}`), Attempt: 2, Kept: true, Waits: WaitsAuth, Later: true, Code: "k7m2qzxd", WrongCodes: 1,
		Terms: Terms{
			Gate: "big", Expires: time.Hour, OnExpiry: ExpiryKeeps, Allowed: []DecisionType{Approve, Edit, Reject},
			FourEyes: true, Elsewhere: true, Destructive: true, NoText: true, CancelsTask: true, WaitingState: WaitsAuth,
			Approvers: &Approvers{Roles: []string{"sre"}, Subjects: []string{"corp:alice"}, All: []Approvers{{Roles: []string{"legal"}}, {Subjects: []string{"key:dora"}}}, When: "args.to in decider.roles", Escalated: []string{"treasury"}},
			Needs:     []Need{{"big", 2, nil}, {"money", 1, &Approvers{Roles: []string{"finance"}, Subjects: []string{"key:dora"}}}}, Human: true,
			Risk: RiskHigh, Mask: []string{"/to"}, MaskTask: true, Notify: []string{"ops"}, Remind: time.Minute, Escalate: Escalation{After: time.Minute, Notify: []string{"oncall"}, AddRoles: []string{"treasury"}},
			Grants: &GrantTerms{Scopes: GrantScopes(), Max: time.Hour, Uses: 5, Vary: []string{"/amount"}},
		},
		Gates:     []AskedGate{{"big", "args.amount > 10", `{"roles":["ops"]}`, "Send {amount}?", 2}},
		Requester: fullPrincipal("agent"), Asked: asked(), Editors: []auth.Principal{fullPrincipal("dora")}, Deadline: &end, Extensions: 2, Reminded: &told, Escalated: &told, Supersedes: "task-1.a1", GrantKey: "e0",
		Votes: []Vote{{By: fullPrincipal("carl"), Via: ViaAPI, At: asked().Add(time.Minute), Digest: "d2", Reason: "seen", Meets: []int{0, 1}}},
		Resolution: &Resolution{
			Decision: Edit, By: fullPrincipal("bob"), Via: ViaAPI, At: asked().Add(time.Minute + 7*time.Millisecond), Reason: "less",
			Args: json.RawMessage(`{"to":"bob","amount":50}`), Digest: "d2", Response: json.RawMessage(`"r"`), Payload: json.RawMessage(`[1]`),
			Grant: &Granted{"g1", GrantRequest{GrantContext, time.Minute, 3, true}},
		},
	}
}

func fullAudit() Audit {
	end := asked().Add(time.Hour)
	return Audit{
		V: AuditVersion, At: asked(), What: AuditResolved, Task: "task-1", Tenant: "acme", Owner: "alice", Call: "c1.2", Tool: "transfer", Approval: "task-1.a2",
		Digest: KeyedDigest([]byte("0123456789abcdef"), "d2"), Gate: "big", State: Edited, By: fullPrincipal("bob"), Via: ViaAPI, Reason: "less", Outcome: "ok", Attempt: 2,
		Deadline: &end, Webhook: "ci", Grant: "g1",
	}
}

func TestGoldenApproval(t *testing.T) {
	t.Parallel()
	full := fullApproval()
	checkFull(t, reflect.ValueOf(full), "Approval")
	checkGolden(t, "approval-waits.v2.json", full)
	full.Waits = "" // from before there was such a field
	checkGolden(t, "approval-kept.v2.json", full)
	full.Kept = false // from before there was such a field
	checkGolden(t, "approval-gates.v2.json", full)
	full.Gates = nil // from before there was such a field
	checkGolden(t, "approval-mask.v2.json", full)
	full.Terms.MaskTask = false // from before there was such a field
	checkGolden(t, "approval-later.v2.json", full)
	full.Later = false // from before there was such a field
	checkGolden(t, "approval-editors.v2.json", full)
	full.Editors = nil // from before there were editors
	checkGolden(t, "approval-exact.v2.json", full)
	full.Resolution.Grant = &Granted{"g1", GrantRequest{GrantContext, time.Minute, 3, false}} // from before there was such a field
	checkGolden(t, "approval-when.v2.json", full)
	full.Terms.Approvers.When = "" // from before there was such a field
	plain, resolution := full, *full.Resolution
	resolution.Grant = nil
	plain.Terms.Grants, plain.GrantKey, plain.Resolution = nil, "", &resolution // from before there were grants
	checkGolden(t, "approval-escalated.v2.json", plain)
	full.Terms.Remind, full.Terms.Escalate, full.Terms.Approvers.Escalated, full.Reminded, full.Escalated = 0, Escalation{}, nil, nil, nil // from before there were such fields
	checkGolden(t, "approval-grants.v2.json", full)
	full.Terms.Grants, full.GrantKey, full.Resolution.Grant = nil, "", nil
	checkGolden(t, "approval.v2.json", full)
	full.V, full.Votes, full.Terms.Needs, full.Terms.Human = 1, nil, nil, false
	checkGolden(t, "approval-extended.v1.json", full)
	full.Extensions = 0 // from before there was such a field
	checkGolden(t, "approval-risk.v1.json", full)
	full.Terms.Risk, full.Terms.Mask, full.Terms.Notify = "", nil, nil // from before there were such fields
	checkGolden(t, "approval-about.v1.json", full)
	full.About = nil // from before there was such a field
	checkGolden(t, "approval-code.v1.json", full)
	full.Code, full.WrongCodes = "", 0 // from before there were such fields
	checkGolden(t, "approval-all.v1.json", full)
	full.Terms.Approvers.All = nil // likewise
	checkGolden(t, "approval-approvers.v1.json", full)
	full.Terms.Approvers = nil // likewise
	checkGolden(t, "approval-person.v1.json", full)
	full.Requester, full.Resolution.By = earlier(full.Requester), earlier(full.Resolution.By)
	checkGolden(t, "approval-held.v1.json", full)
	full.Held = false // from before there was such a field
	checkGolden(t, "approval-auth.v1.json", full)
	full.Terms.WaitingState = "" // likewise
	checkGolden(t, "approval-payload.v1.json", full)
	full.TakesPayload = false // likewise
	checkGolden(t, "approval.v1.json", full)
	checkGolden(t, "approval-least.v1.json", Approval{
		V: 1, ID: "task-1.a1", Kind: KindCall, State: Pending, Task: "task-1", Context: "ctx-1", Call: "c1.1", Agent: "bank", Tool: "send",
		Definition: "def0", Args: json.RawMessage(`{}`), Digest: "d1", Hint: "Send?", Terms: Terms{Gate: GateTool},
		Requester: auth.Anonymous(), Asked: asked(),
	})
}

// The rows of grants: as the terms let arguments vary, and exact.
func TestGoldenGrant(t *testing.T) {
	t.Parallel()
	full := fullApproval()
	for name, exact := range map[string]bool{"grant.v1.json": false, "grant-exact.v1.json": true} {
		g, err := full.NewGrant("g1", GrantRequest{Scope: GrantContext, Uses: 3, Exact: exact}, fullPrincipal("alice"), fullPrincipal("bob"), asked())
		if err != nil {
			t.Fatal(err)
		}
		g.Store, g.Used = "00000000000000ff", 2
		if !exact {
			checkFull(t, reflect.ValueOf(*g), "Grant")
		}
		checkGolden(t, name, *g)
	}
}

func TestGoldenAudit(t *testing.T) {
	t.Parallel()
	full := fullAudit()
	checkFull(t, reflect.ValueOf(full), "Audit")
	checkGolden(t, "audit-grant.v2.json", full)
	full.Grant = "" // from before there were grants
	checkGolden(t, "audit.v2.json", full)
	checkGolden(t, "audit-least.v2.json", Audit{V: AuditVersion, At: asked(), What: AuditStarted, Task: "task-1", Owner: "alice"})
	checkAudit(t, "audit.v2.json", full)

	full.V, full.Tenant, full.Owner, full.Digest, full.Deadline = 1, "", "", "d2", nil
	checkAudit(t, "audit-webhook.v1.json", full)
	full.Webhook = "" // from before there was such a field
	checkAudit(t, "audit-person.v1.json", full)
	full.By = earlier(full.By)
	checkAudit(t, "audit.v1.json", full)
	checkAudit(t, "audit-least.v1.json", Audit{V: 1, At: asked(), What: AuditStarted, Task: "task-1"})
}

// checkAudit decodes a stored entry of any version.
func checkAudit(t *testing.T, name string, want Audit) {
	t.Helper()
	got, err := DecodeAudit(readGolden(t, name))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("DecodeAudit(%s) = %v (-want +got):\n%s", name, err, diff)
	}
}

// A keyed digest tells neither what it is a digest of nor whether two keys have the same one.
func TestKeyedDigest(t *testing.T) {
	t.Parallel()
	// The value is OpenSSL's: printf sha256:d1 | openssl dgst -sha256 -hmac one
	const want = "hmac-sha256:cacb44848cefa26e22e910cca869172507e674ea40a14bd773e989e10e58fee4"
	if got := KeyedDigest([]byte("one"), "sha256:d1"); got != want {
		t.Errorf("KeyedDigest() = %s, want %s", got, want)
	}
	if got := KeyedDigest([]byte("two"), "sha256:d1"); got == want {
		t.Error("two keys give one digest the same value")
	}
}

func TestDecodeAuditErrors(t *testing.T) {
	t.Parallel()
	if got, err := DecodeAudit([]byte(`{"v":2,"task":7}`)); err == nil || got.V != 0 {
		t.Errorf("DecodeAudit() = %+v, %v, want nothing and an error", got, err)
	}
}

// words are all the constants that stand on disks and on the wire.
type words struct {
	Kinds   []Kind         `json:"kinds"`
	States  []State        `json:"states"`
	Verbs   []DecisionType `json:"verbs"`
	Expiry  []OnExpiry     `json:"onExpiry"`
	Via     []string       `json:"via"`
	Audit   []AuditEvent   `json:"audit"`
	Reasons []Reason       `json:"reasons"`
	Rules   []string       `json:"rules"`
}

func constants() words {
	return words{
		Kinds:   []Kind{KindCall, KindOutcome, KindQuestion},
		States:  []State{Pending, Approved, Edited, Rejected, Responded, Expired, Canceled, Superseded},
		Verbs:   []DecisionType{Approve, Edit, Reject, Respond, Cancel},
		Expiry:  []OnExpiry{ExpiryRejects, ExpiryCancels, ExpiryKeeps},
		Via:     []string{ViaA2A, ViaAPI, ViaProvider, ViaSystem},
		Audit:   []AuditEvent{AuditAsked, AuditVoted, AuditResolved, AuditStarted, AuditFinished, AuditLate, AuditUnknown, AuditCanceled, AuditKept, AuditDeleting, AuditWebhook, AuditRestored, AuditResumed},
		Reasons: []Reason{ReasonUnknown, ReasonMalformed, ReasonNotAllowed, ReasonConflict, ReasonExpired, ReasonChanged, ReasonDecided},
		Rules:   []string{GateTool, GateDefault, OutcomeTerms(Terms{Gate: GateTool}).Gate},
	}
}

func TestGoldenStates(t *testing.T) {
	t.Parallel()
	checkGolden(t, "states.json", constants())
}

// Elsewhere is fixed when it is asked, so it is a golden matter too.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*Approval)
		want bool
	}{
		{"by default", func(*Approval) {}, false},
		{"rule", terms(Terms{Elsewhere: true}), true},
		{"four eyes", terms(Terms{FourEyes: true}), true},
		{"auth", askKind("auth"), true},
		{"confirm", askKind(AskConfirm), false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := pending("t.a1", tc.edit).Elsewhere(); got != tc.want {
				t.Errorf("Elsewhere() = %v, want %v", got, tc.want)
			}
		})
	}
}
