package env

import "time"

// Held returns the moment of the backup from which the store was restored, while it waits for its
// operator. Zero: it does not wait.
func (e *Env) Held() time.Time {
	if Closed(e.resumed) {
		return time.Time{}
	}
	return e.Config.Held
}

// Resumed returns a channel that is closed while the store does not wait for its operator.
func (e *Env) Resumed() <-chan struct{} { return e.resumed }
