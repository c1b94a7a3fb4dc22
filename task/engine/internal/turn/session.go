package turn

import (
	"errors"

	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
)

// joinAgain reads the state of the context again if some context has changed. Nothing of
// the turn may be in flight but chunks.
func (t *Turn) joinAgain() error {
	if t.fold.Session().At == t.turns.Reader.SessionAt() {
		return nil
	}
	err := t.turns.Reader.Join(t.turns.Env.Ctx, t.Owner, t.fold)
	for n := 1; errors.Is(err, store.ErrUnavailable) && t.turns.Env.Pause(env.RetryPause(n)); n++ {
		err = t.turns.Reader.Join(t.turns.Env.Ctx, t.Owner, t.fold)
	}
	return err
}

// contextFull reports whether the store has refused the state that calls have set in their
// context: together with the state set by other tasks since it was read, it is too much.
func contextFull(err error) bool {
	_, full := errors.AsType[*store.ContextRowsError](err)
	return full
}
