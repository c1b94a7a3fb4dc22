package share_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/internal/share"
)

// A request is refused by the limit that it exceeds, and what is returned can be taken again.
func TestTake(t *testing.T) {
	t.Parallel()
	s := share.New[string](10, 6)
	for _, tt := range []struct {
		caller string
		n      int64
		full   *share.Full
	}{
		{"a", 6, nil},
		{"a", 1, &share.Full{Own: true, Held: 6, Limit: 6, Alone: true}},
		{"b", 4, nil},
		{"c", 1, &share.Full{Held: 10, Limit: 10}},
		{"a", -3, nil},
		{"c", 4, &share.Full{Held: 7, Limit: 10}},
		{"c", 3, nil},
	} {
		if tt.n < 0 {
			s.Give(tt.caller, -tt.n)
			continue
		}
		if diff := cmp.Diff(tt.full, s.Take(tt.caller, tt.n)); diff != "" {
			t.Errorf("Take(%s, %d) (-want +got):\n%s", tt.caller, tt.n, diff)
		}
	}
	s.Give("a", 3)
	s.Give("b", 4)
	s.Give("c", 3)
	s.Add("a", 20)
	if s.Take("b", 1) == nil {
		t.Error("what was added does not count")
	}
	s.Give("a", 20)
	if units, callers := s.Total(); units != 0 || callers != 0 {
		t.Errorf("Total() = %d, %d; want nothing", units, callers)
	}
}

// Only a holder that is alone may exceed a limit.
func TestExtend(t *testing.T) {
	t.Parallel()
	s := share.New[string](10, 5)
	for i, tt := range []struct {
		caller  string
		mine, n int64
		full    *share.Full
	}{
		{"a", 0, 4, nil},
		{"a", 4, 20, nil}, // it is alone
		{"b", 0, 1, &share.Full{Held: 24, Limit: 10}},
		{"a", 0, 1, &share.Full{Own: true, Held: 24, Limit: 5, Alone: true}},
		{"a", 24, -22, nil},
		{"b", 0, 7, nil}, // the only one of its caller
		{"b", 7, 2, &share.Full{Held: 9, Limit: 10}},
	} {
		if diff := cmp.Diff(tt.full, s.Extend(tt.caller, tt.mine, tt.n)); diff != "" {
			t.Errorf("%d: Extend(%s, %d, %d) (-want +got):\n%s", i, tt.caller, tt.mine, tt.n, diff)
		}
	}
}

// Units are given in order, a caller with its share delays no other, and one that gives up leaves
// nothing behind.
func TestWait(t *testing.T) {
	t.Parallel()
	s := share.New[string](2, 1)
	type wait struct {
		granted <-chan struct{}
		give    func()
	}
	begin := func(caller string) wait {
		granted, give := s.Wait(caller)
		return wait{granted, give}
	}
	has := func(waits ...wait) (has []bool) {
		for _, w := range waits {
			select {
			case <-w.granted:
				has = append(has, true)
			default:
				has = append(has, false)
			}
		}
		return has
	}
	a, again, b, c, d := begin("a"), begin("a"), begin("b"), begin("c"), begin("d")
	check := func(want ...bool) {
		t.Helper()
		if diff := cmp.Diff(want, has(a, again, b, c, d)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check(true, false, true, false, false)
	c.give()
	b.give()
	check(true, false, true, false, true)
	a.give()
	check(true, true, true, false, true)
	again.give()
	d.give()
	if units, callers := s.Total(); units != 0 || callers != 0 {
		t.Errorf("Total() = %d, %d; want nothing", units, callers)
	}
}
