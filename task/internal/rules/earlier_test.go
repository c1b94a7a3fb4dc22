package rules_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
)

// A snapshot of version 1 had a call as unknown whose outcome a person is being asked
// about. It is not asked about again: the question that waits is answered.
func TestOutcomeInASnapshotOfVersion1(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	k.decide(id(1), approval.Approve)
	k.dies()
	b, _, err := k.fold().Encode(fold.SnapshotParts{Fold: true})
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(b[1:11]))
	if err != nil {
		t.Fatal(err)
	}
	private := string(b[11 : 11+n])
	for was, is := range map[string]string{`"state":"asked"`: `"state":"unknown"`, `,"cause":"died"`: ``} {
		if strings.Count(private, was) != 1 {
			t.Fatalf("a snapshot has no %s: %s", was, private)
		}
		private = strings.Replace(private, was, is, 1)
	}
	old := append([]byte{1}, fmt.Appendf(nil, "%010d%s", len(private), private)...)
	f, err := fold.Decode(append(old, b[11+n:]...), nil, false /* viewOnly */)
	if err != nil {
		t.Fatal(err)
	}
	f.Header = k.header
	d, err := rules.On(k.rules, k.at(), f, rules.LogChanged{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Advance(); err != nil {
		t.Fatal(err)
	}
	if n := len(d.Asked()); n > 0 || len(d.Fold().Pending()) != 1 {
		t.Errorf("%d approvals are asked again, and %d wait; want the one that there is", n, len(d.Fold().Pending()))
	}
}
