package task

import (
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/task/internal/event"
)

// snapshotVersion is the first byte of a snapshot. Version 1, which is read too, had
// no Paused and other causes of the unknown.
const snapshotVersion = 2

// minSnapshot is the least that must have come since the last snapshot.
const minSnapshot = 16 << 10

// WantsSnapshot reports whether more has come since the last snapshot than that
// one has, so that snapshots never outweigh events.
func (f *Fold) WantsSnapshot() bool { return f.tail >= max(minSnapshot, f.snapshotSize) }

// Snapshotted notes that a snapshot of n bytes has been made of the fold; 0: one was
// due, and could not be made.
func (f *Fold) Snapshotted(n int) {
	f.tail = 0
	if n > 0 {
		f.snapshotSize = n
	}
}

// Lighten lets go of what clients see of the task when that has more than limit
// bytes. Nothing that the rules need is lost, but the fold can be neither shown nor
// encoded any more.
func (f *Fold) Lighten(limit int) { f.View.lighten(limit) }

// Light reports whether [Fold.Lighten] has let something go.
func (f *Fold) Light() bool { return f.View.light }

// Encode returns the fold as a snapshot: a version, the private part as JSON, the
// view. A light fold cannot be encoded.
func (f *Fold) Encode() ([]byte, error) {
	if f.View.light {
		return nil, errors.New("encode snapshot: the view was let go")
	}
	private, err := json.Marshal(&f.saved)
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	b := make([]byte, 0, len(private)+f.View.Size()+64)
	b = append(b, snapshotVersion)
	b = fmt.Appendf(b, "%010d", len(private))
	b = append(b, private...)
	return f.View.appendBinary(b), nil
}

// DecodeFold reads what Encode wrote; with viewOnly only the view. The header is for
// the caller to fill in. The fold keeps parts of b, which must not be changed.
func DecodeFold(b []byte, viewOnly bool) (*Fold, error) {
	if len(b) < 11 || b[0] != snapshotVersion && b[0] != 1 {
		return nil, fmt.Errorf("snapshot is of another version than %d", snapshotVersion)
	}
	var n int
	if _, err := fmt.Sscanf(string(b[1:11]), "%010d", &n); err != nil || n < 0 || n > len(b)-11 {
		return nil, errors.New("snapshot is cut")
	}
	f := &Fold{snapshotSize: len(b)}
	if !viewOnly {
		if err := json.Unmarshal(b[11:11+n], &f.saved); err != nil {
			return nil, fmt.Errorf("decode snapshot: %w", err)
		}
		if b[0] == 1 {
			f.fromVersion1()
		}
	}
	view, rest, err := decodeView(b[11+n:])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes stand after its end", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	f.View = view
	return f, nil
}

// fromVersion1 fills in what version 1 did not have.
func (f *Fold) fromVersion1() {
	for _, s := range f.Steps {
		for _, c := range s.Progress {
			c.Paused = c.State == callWaiting
			if a := f.approval(c.Approval); c.State == callDecided && a != nil && a.State == approval.Edited {
				c.Args = a.Resolution.Args // it was taken over when the call started
			}
			if c.State != callUncertain {
				continue
			}
			c.Cause = event.CauseOfV1(c.Why)
			if c.Approval != "" { // what came of it has been asked
				c.State = callAsked
			}
		}
	}
}
