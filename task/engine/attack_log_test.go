package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/task/engine"
)

// docs/approvals.md: the line "decision refused" is about a decision. A remark with a credential that was
// revoked before the commit decides nothing.
func TestAttackLogOfARefusedRemark(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	var log safeBuffer
	w.start()
	w.restart(func(cfg *engine.Config) { cfg.Log = zerolog.New(&log) })
	id := w.ask(alice, 1)
	revoked := errors.New("the key was revoked")
	_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.reply(id, a2a.NewTextPart("what is it?")), Renew: func(context.Context) (auth.Principal, error) {
		return auth.Principal{}, revoked
	}})
	if !errors.Is(err, revoked) {
		t.Fatalf("Send() = %v", err)
	}
	if line := log.line(t, "decision refused"); line != nil {
		t.Errorf("a remark is logged as a decision: %v", line)
	}
}
