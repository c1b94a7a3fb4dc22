package engine_test

import (
	"testing"
	"testing/synctest"

	"a2a-server/approval"
)

// The grants of an owner are bounded: they outlive the tasks in which they were made, and their
// arguments count for no limit of the disk.
func TestGrantsAreBounded(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits.DiskPerCaller = 1 << 20
		w.mailing(mails(approval.GrantTerms{}))
		memo := make([]byte, 60_000)
		for i := range memo {
			memo[i] = 'x'
		}
		kept := 0
		for n := range 100 {
			of := w.mail(alice, "", args{"amount": n, "memo": string(memo)})
			one := w.pendingOf(alice, of)
			err := w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: one.ID, Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTime}})
			if err != nil {
				t.Logf("grant %d = %v", n, err)
				return
			}
			synctest.Wait()
			w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(of.ID)))
			synctest.Wait()
			kept += len(memo)
		}
		t.Errorf("alice has no task, may keep %d bytes, and her grants keep %d", w.cfg.Limits.DiskPerCaller, kept)
	})
}
