package engine

import "context"

// Ended reports whether the context of the turn that a message began ends once the
// turn has left, before ctx does.
func (s *Sent) Ended(ctx context.Context) bool {
	<-s.turn.done
	select {
	case <-s.turn.ctx.Done():
		return true
	case <-ctx.Done():
		return false
	}
}
