package rules

import "errors"

// Input is something that happens to a task. It adds its immediate consequences, or is refused;
// [Draft.Advance] decides the rest.
type Input interface {
	put(add additions, b basis) (additions, error)
}

// LogChanged is the [Input] for a change of the log by another writer since the task was last
// advanced.
type LogChanged struct{}

func (LogChanged) put(add additions, b basis) (additions, error) {
	add.told = true
	return add, nil
}

// ErrNoChange means that an input changes nothing.
var ErrNoChange = errors.New("nothing to change")

// ErrNotYet means that a due row cannot be processed now, and stays: another instance has to
// process it, or the clock was set back.
var ErrNotYet = errors.New("it is not due yet")
