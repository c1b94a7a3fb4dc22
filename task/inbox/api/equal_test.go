package api_test

import (
	"slices"
	"testing"

	"a2a-server/auth"
	"a2a-server/client"
)

// equals returns the ids to which each pending approval of the list of by is equal.
func (w *world) equals(by auth.Principal) map[string][]string {
	w.t.Helper()
	all := map[string][]string{}
	for _, a := range into[client.ApprovalPage](w.get(by, "/approvals").want(200)).Items {
		all[a.ID] = a.EqualTo
	}
	return all
}

// Equal calls that wait name each other, in lists and on their own, in one task or several, until they end.
func TestEqualCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.askCalls(alice, call("ship", 5), call("ship", 6), call("ship", 5))
	other := w.askCalls(member("ann", auth.RoleRequester), call("ship", 5))[0]
	for _, tc := range []struct {
		by   auth.Principal
		want []string
	}{{olga, []string{first[2].ID, other.ID}}, {vera, []string{first[2].ID, other.ID}}, {alice, []string{first[2].ID}}} {
		list := w.equals(tc.by)
		if got := list[first[0].ID]; !slices.Equal(got, tc.want) || len(list[first[1].ID]) > 0 {
			t.Errorf("%s sees that %s is equal to %v and %s to %v, want %v and none", tc.by.Subject, first[0].ID, got, first[1].ID, list[first[1].ID], tc.want)
		}
		if got := into[client.ApprovalDetail](w.get(tc.by, "/approvals/"+first[0].ID).want(200)).Approval.EqualTo; !slices.Equal(got, tc.want) {
			t.Errorf("%s sees on its own that it is equal to %v, want %v", tc.by.Subject, got, tc.want)
		}
	}
	w.post(olga, decisionOf(first[2]), approve(first[2])).want(200)
	if got := w.equals(olga)[first[0].ID]; !slices.Equal(got, []string{other.ID}) {
		t.Errorf("after a decision it is equal to %v, want %s", got, other.ID)
	}
}

// Equality of masked arguments is for readers of the digest only: a viewer, and an approver of other calls,
// could guess by it.
func TestEqualMaskedCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	small := w.askCalls(alice, call("pay", 5), call("pay", 5))
	large := w.askCalls(alice, call("pay", 6000), call("pay", 6000))
	for _, tc := range []struct {
		by           auth.Principal
		small, large bool
	}{{alice, true, true}, {cfo, true, true}, {olga, true, false}, {vera, false, false}} {
		list := w.equals(tc.by)
		if got := len(list[small[0].ID]) > 0; got != tc.small {
			t.Errorf("%s sees that the small payments are equal: %v, want %v", tc.by.Subject, got, tc.small)
		}
		if got := len(list[large[0].ID]) > 0; got != tc.large {
			t.Errorf("%s sees that the large payments are equal: %v, want %v", tc.by.Subject, got, tc.large)
		}
	}
}
