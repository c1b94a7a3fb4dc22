package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
)

// docs/approvals.md: a grant covers calls that differ only in vary. The grant of a decider who may decide the
// call is found behind 1,000 grants of one who may not.
func TestAttackGrantBehindAThousand(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		g := mails(approval.GrantTerms{Vary: []string{"/amount"}})
		g.Terms.Approvers = &approval.Approvers{Roles: []string{auth.RoleApprover}, When: "args.amount < 100 || decider.subject == 'cfo'"}
		w.mailing(g)
		var of []*a2a.Task
		const many = 1000
		for range many + 1 { // before there is a grant
			of = append(of, w.mail(alice, "", args{"amount": 1}))
		}
		cfo := boss
		cfo.Subject = "cfo"
		for i, o := range of {
			by, ask := boss, approval.GrantRequest{Scope: approval.GrantTime}
			if i == many {
				by, ask.For = cfo, time.Hour // ends first, so it is read last
			}
			one := w.pendingOf(by, o)
			w.must(w.engine.Approvals().Decide(w.ctx(), by, approval.Decision{ID: one.ID, Type: approval.Approve, Digest: one.Digest, Grant: &ask}))
			synctest.Wait()
		}
		w.wantAsked(w.mail(alice, "c", args{"amount": 100}), false)
	})
}
