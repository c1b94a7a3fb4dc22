package turn

import (
	"errors"

	"a2a-server/store"
)

// joinAgain reads the state of the context again if some context has changed. Nothing of
// the turn may be in flight but chunks.
func (t *Turn) joinAgain() error {
	if t.fold.Session().At == t.turns.Reader.SessionAt() {
		return nil
	}
	return t.turns.Env.Retry(func() error { return t.turns.Reader.Join(t.turns.Env.Ctx, t.Owner, t.fold) })
}

// contextFull reports whether the store has refused the state that calls have set in their
// context: together with the state set by other tasks since it was read, it is too much.
func contextFull(err error) bool {
	_, full := errors.AsType[*store.ContextRowsError](err)
	return full
}
