package rules_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
)

// Two programs are not two persons.
func TestProgramsAreNoPeople(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	k.rules.Delegated = true
	for _, name := range []string{"key:ci", "key:cron"} {
		by := voter(name)
		by.Kind = auth.KindService
		if err := k.votes(1, by, approval.Approve, ""); err != nil {
			t.Logf("the vote of %s = %v", name, err)
		}
	}
	k.wantEntries(0)
}
