package approval

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 13, 0, 0, 123456789, time.FixedZone("", 3600))
	at := time.Date(2026, 3, 1, 12, 0, 0, 123000000, time.UTC)
	all := Decision{
		ID: "t.a1", Reason: "why", Digest: "d1", Args: json.RawMessage(`{"to":"y"}`),
		Response: json.RawMessage(`1`), Payload: json.RawMessage(`2`),
	}
	base := Resolution{By: bob(), Via: ViaAPI, At: at, Reason: "why", Payload: json.RawMessage(`2`)}
	tests := []struct {
		verb  DecisionType
		state State
		edit  func(*Resolution)
	}{
		{Approve, Approved, func(*Resolution) {}},
		{Edit, Edited, func(r *Resolution) { r.Args = json.RawMessage(`{"to":"y"}`) }},
		{Reject, Rejected, func(*Resolution) {}},
		{Respond, Responded, func(r *Resolution) { r.Response = json.RawMessage(`1`) }},
		{Cancel, Canceled, func(*Resolution) {}},
		{"maybe", Rejected, func(r *Resolution) { r.Decision = Reject }},
	}
	for _, tc := range tests {
		t.Run(string(tc.verb), func(t *testing.T) {
			t.Parallel()
			answer := all
			answer.Type = tc.verb
			want := base
			want.Decision = tc.verb
			tc.edit(&want)
			a := pending("t.a1")
			state, got := a.Resolve(answer, bob(), ViaAPI, now)
			if state != tc.state {
				t.Errorf("state = %s, want %s", state, tc.state)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("resolution (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(pending("t.a1"), a); diff != "" {
				t.Errorf("Resolve changed the approval (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	now := asked().Add(time.Hour)
	over := Resolution{Via: ViaSystem, At: now, Reason: "nobody answered by 2026-03-01T13:00:00.000Z"}
	tests := []struct {
		name    string
		edits   []func(*Approval)
		overdue bool
		state   State
		want    Resolution
		kept    bool
	}{
		{"no deadline", nil, false, Pending, Resolution{}, false},
		{"not yet", []func(*Approval){deadline(now.Add(1))}, false, Pending, Resolution{}, false},
		{"by default", []func(*Approval){deadline(now)}, true, Expired, over, false},
		{"reject", []func(*Approval){deadline(now), terms(Terms{OnExpiry: ExpiryRejects})}, true, Expired, over, false},
		{"cancel", []func(*Approval){deadline(now), terms(Terms{OnExpiry: ExpiryCancels})}, true, Expired, over, false},
		{"keep", []func(*Approval){deadline(now), terms(Terms{OnExpiry: ExpiryKeeps})}, true, Pending, Resolution{}, true},
		{"unknown outcome", []func(*Approval){deadline(now), terms(Terms{OnExpiry: "run"})}, true, Expired, over, false},
		{"F7 decided before", []func(*Approval){deadline(now), endedAs(Approved, Resolution{})}, false, Approved, Resolution{}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := pending("t.a1", tc.edits...)
			if got := Overdue(a, now); got != tc.overdue {
				t.Errorf("Overdue() = %v, want %v", got, tc.overdue)
			}
			state, got, kept := Expire(a, now)
			if state != tc.state || kept != tc.kept {
				t.Errorf("Expire() = %s, %v, want %s, %v", state, kept, tc.state, tc.kept)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("resolution (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutcomeTerms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in, want Terms
	}{
		{"of no rule", Terms{}, Terms{Gate: "default:outcome"}},
		{
			"of a rule",
			Terms{Gate: "big", Expires: time.Hour, OnExpiry: ExpiryKeeps, Allowed: []DecisionType{Approve}, FourEyes: true, Elsewhere: true, Destructive: true, NoText: true, CancelsTask: true},
			Terms{Gate: "big:outcome", Expires: time.Hour, OnExpiry: ExpiryKeeps, FourEyes: true, Elsewhere: true, Destructive: true, NoText: true, CancelsTask: true},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, OutcomeTerms(tc.in)); diff != "" {
				t.Errorf("OutcomeTerms() (-want +got):\n%s", diff)
			}
		})
	}
}
