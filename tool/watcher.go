package tool

import (
	"encoding/json"
	"errors"
	"time"
)

// Waiting is a decision, made elsewhere, for which the work of a suspended call waits.
type Waiting struct {
	ID       string    `json:"id"`       // unique within the call, and its name in logs and messages
	Agent    string    `json:"agent"`    // the agent that waits, in words, such as "bank" or "shop/bank"
	WaitsFor string    `json:"waitsFor"` // the people who decide, in words
	Since    time.Time `json:"since"`
	Expires  time.Time `json:"expires,omitzero"` // zero: it waits until it is decided
}

// MaxWaits limits the decisions that a [Suspension] may wait for; the rest is not shown.
const MaxWaits = 16

// ErrUnchanged is returned by Watch of a [Watcher]: there is no reason to enter the call.
var ErrUnchanged = errors.New("the work of the call has not changed")

// ErrTimeLimit is the cause with which the context of a call ends when its time is over; see [Timed]. A
// tool whose work goes on elsewhere may return a [Suspension] then: the outcome of the call is not
// unknown.
var ErrTimeLimit = errors.New("the tool exceeded its time limit")

// Watcher is a tool that can look at the work of its suspended calls without being entered. A call
// whose [Suspension] says Watch is looked at from its Wake on, every few seconds and after restarts,
// until its work has changed: that needs no place, and writes nothing to the log.
type Watcher interface {
	Tool

	// Watch looks once at the work of a suspended call, which ctx names. state is that of its
	// suspension. It must change nothing, and return within [WatchTime]. ctx is that of the task's
	// owner: its state can only be read, and it has no artifacts.
	//
	// ErrUnchanged leaves the call as it is. Waits says that it still waits, and takes the place of the
	// Waits of its suspension. Without either the call is entered, as after any other error: the call
	// then meets the problem itself.
	Watch(ctx Context, state json.RawMessage) (waits []Waiting, err error)
}

// WatchTime limits a look by Watch of a [Watcher].
const WatchTime = 10 * time.Second
