package approval

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/internal/golden"
)

// checkGolden encodes want to a file of testdata, and decodes the file.
func checkGolden[T any](t *testing.T, name string, want T) string {
	t.Helper()
	out, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	data := golden.File(t, filepath.Join("testdata", name), string(out)+"\n")
	var got T
	dec := json.NewDecoder(strings.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("decode %s: %v", name, err)
	}
	// Raw JSON in the file is indented; what counts is the value.
	raw := cmp.Comparer(sameJSON)
	if diff := cmp.Diff(want, got, raw); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	return data
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

func fullApproval() Approval {
	end, told := asked().Add(time.Hour), asked().Add(time.Minute)
	return Approval{
		V: Version, ID: "task-1.a2", Kind: KindCall, State: Edited, Task: "task-1", Context: "ctx-1", Call: "c1.2", Alias: "adk-7",
		Agent: "bank", Tool: "transfer", Definition: "def0", Args: json.RawMessage(`{"to":"bob","amount":100}`), Digest: "d1",
		About: &About{Description: "Sends money.", Declared: []string{"destructive"}, Claimed: []string{"open world"}},
		Hint:  "Send 100 to bob?", Notes: "It may have run.", Payload: json.RawMessage(`{"fee":1}`), TakesPayload: true, Ask: "fee", AskKind: askConfirm, Held: true,
		Schema: json.RawMessage(`{"type":"object"}`), Attempt: 2, Kept: true, Waits: WaitsAuth, Later: true, Code: "k7m2qzxd", WrongCodes: 1,
		Terms: Terms{
			Gate: "big", Expires: time.Hour, OnExpiry: ExpiryKeeps, Allowed: []DecisionType{Approve, Edit, Reject},
			FourEyes: true, Elsewhere: true, Destructive: true, NoText: true, CancelsTask: true, WaitingState: WaitsAuth,
			Approvers: &Approvers{Roles: []string{"sre"}, Subjects: []string{"corp:alice"}, When: "args.to in decider.roles", Escalated: []string{"treasury"}},
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
		V: Version, At: asked(), What: AuditResolved, Task: "task-1", Tenant: "acme", Owner: "alice", Call: "c1.2", Tool: "transfer", Approval: "task-1.a2",
		Digest: KeyedDigest([]byte("0123456789abcdef"), "d2"), Gate: "big", State: Edited, By: fullPrincipal("bob"), Via: ViaAPI, Reason: "less", Outcome: "ok", Attempt: 2,
		Deadline: &end, Webhook: "ci", Grant: "g1",
	}
}

func TestGoldenApproval(t *testing.T) {
	t.Parallel()
	full := fullApproval()
	checkFull(t, reflect.ValueOf(full), "Approval")
	checkGolden(t, "approval.json", full)
	if err := full.CheckVersion(); err != nil {
		t.Error(err)
	}
	if full.V++; full.CheckVersion() == nil {
		t.Error("an approval of another version is accepted")
	}
}

func TestGoldenGrant(t *testing.T) {
	t.Parallel()
	full := fullApproval()
	g, err := full.NewGrant("g1", GrantRequest{Scope: GrantContext, Uses: 3}, fullPrincipal("alice"), fullPrincipal("bob"), asked())
	if err != nil {
		t.Fatal(err)
	}
	g.Store, g.Used = "00000000000000ff", 2
	checkFull(t, reflect.ValueOf(*g), "Grant")
	checkGolden(t, "grant.json", *g)
}

func TestGoldenAudit(t *testing.T) {
	t.Parallel()
	full := fullAudit()
	checkFull(t, reflect.ValueOf(full), "Audit")
	got, err := DecodeAudit([]byte(checkGolden(t, "audit.json", full)))
	if diff := cmp.Diff(full, got); err != nil || diff != "" {
		t.Errorf("DecodeAudit() = %v (-want +got):\n%s", err, diff)
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
	for _, data := range []string{`{"v":1,"task":7}`, `{"v":2,"task":"t"}`, `{}`} {
		if got, err := DecodeAudit([]byte(data)); err == nil || got.V != 0 {
			t.Errorf("DecodeAudit(%s) = %+v, %v, want nothing and an error", data, got, err)
		}
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
		{"confirm", askKind(askConfirm), false},
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
