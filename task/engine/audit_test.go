package engine_test

import (
	"testing"
	"testing/synctest"

	"a2a-server/approval"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// The audit names the approval under which a call has run, also when it was repeated
// after its process had died.
func TestAuditOfARepeatedCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := enterPay(t, newMemory(t), onOutcome, engine.Config{})
		h.pay.is = tool.Annotations{Idempotent: true}
		h.die()
		h.ended(h.id)
		for _, a := range h.audits(h.id) {
			if a.What == approval.AuditFinished && a.Approval != h.call.ID {
				t.Errorf("audit of the end = %+v, want approval %s", a, h.call.ID)
			}
		}
	})
}

// The audit has the digest of the arguments that an edit has approved.
func TestAuditOfAnEdit(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
		synctest.Wait()
		a := w.onlyOne(id)
		if err := w.decide(bob, id, approval.Answer{ID: a.ID, Verb: approval.Edit, Args: []byte(`{"amount":2,"to":"x"}`)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		all := w.audits(id)
		if r, asked := find(all, approval.AuditResolved), find(all, approval.AuditAsked); r == nil || r.Digest == asked.Digest {
			t.Errorf("audit of the edit has the digest of what was asked, %s, not of what runs", asked.Digest)
		}
	})
}
