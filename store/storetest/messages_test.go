package storetest

import (
	"errors"
	"strings"
	"testing"

	"a2a-server/store"
)

// What the suite says of a store that fails it has the values, not their addresses, and
// says of an error that is missing that it is nil.
func TestMessagesPrintValues(t *testing.T) {
	t.Parallel()
	rev := uint64(7)
	b := &store.Batch{Rev: &rev, Snapshot: &store.Snapshot{After: 3, Bytes: []byte("fold")}, Events: []store.Event{public("hello")}}
	for name, tc := range map[string]struct {
		said string
		want []string
	}{
		"succeeded, and should not":      {outcome{err: store.ErrConflict}.differs(store.Receipt{}, nil).Error(), []string{"<nil>", store.ErrConflict.Error()}},
		"another receipt":                {outcome{receipt: store.Receipt{Rev: 2}}.differs(store.Receipt{Rev: 1}, nil).Error(), []string{"Rev:1", "Rev:2", "<nil>"}},
		"failed, and should not":         {outcome{}.differs(store.Receipt{}, errors.New("broken")).Error(), []string{"broken", "<nil>"}},
		"no duplicate":                   {duplicateOf(store.TaskID{1})(nil).Error(), []string{"<nil>", "duplicate"}},
		"not refused for what is parked": {crowded(2, 3)(nil).Error(), []string{"<nil>", "2", "3"}},
		"batch":                          {show(b), []string{"7", "fold", "hello"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, want := range tc.want {
				if !strings.Contains(tc.said, want) {
					t.Errorf("it says %q, want it to have %q", tc.said, want)
				}
			}
			for _, wrong := range []string{"%!", "0xc0"} {
				if strings.Contains(tc.said, wrong) {
					t.Errorf("it says %q, which has %q", tc.said, wrong)
				}
			}
		})
	}
}
