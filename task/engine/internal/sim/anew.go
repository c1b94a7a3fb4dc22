package sim

import (
	"context"
	"slices"

	"a2a-server/approval"
)

// askAnewSomething asks a pending approval of a call anew, mostly after other gates were loaded.
func askAnewSomething(w *world) {
	onCall(func(*approval.Approval) bool { return true }, func(w *world, t *modelTask, a *approval.Approval) {
		if w.choices.Choose(Script, 4) > 0 {
			reloadGates(w)
		}
		by, v := Pick(w.choices, Script, append(slices.Clip(voters), t.owner)...), w.server()
		w.attempt(v, "asking anew", func(ctx context.Context) error {
			_, err := v.engine.Approvals().AskAnew(ctx, by, a.ID, a.Digest)
			return err
		}, func() {
			w.coverage.Count("an approval is asked anew")
			next := slices.ContainsFunc(t.approvals, func(b *modelApproval) bool { return b.Supersedes == a.ID })
			if old := t.approval(a.ID); !old.askedAnew() || !next {
				w.s.Fail("an acknowledged new question is durable", "%s of task %s is %s, and has a successor: %t", a.ID, t.id, old, next)
			}
		})
	})(w)
}

// askedAnew reports whether a person has ended the approval by asking anew.
func (a *modelApproval) askedAnew() bool {
	return a != nil && a.State == approval.Superseded && a.Resolution.Via == approval.ViaAPI && a.Resolution.Decision == ""
}

// bothDemands returns the demands of each of all together with each of the gates before.
func bothDemands(all, before []demand) (both []demand) {
	for _, d := range all {
		for _, o := range before {
			both = append(both, demand{
				action: d.action, people: max(d.people, o.people), legal: max(d.legal, o.legal),
				fourEyes: d.fourEyes || o.fourEyes, grants: d.grants && o.grants, soon: d.soon || o.soon,
			})
		}
	}
	return both
}
