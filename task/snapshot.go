package task

import (
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/task/internal/event"
)

// snapshotVersion is the first byte of a snapshot. The earlier ones are read, too: they
// have the artifacts in them, and version 1 had no Paused and other causes of the unknown.
const snapshotVersion = 3

const (
	// minSnapshot is the least that must have come since the last snapshot.
	minSnapshot = 16 << 10
	// minChunks is that while chunks come. A reader without artifacts has to pass them
	// over, which is quick, and the turn ends with a snapshot.
	minChunks = 1 << 20
)

// SnapshotParts says which parts of a snapshot are due. There is none of the artifacts alone.
type SnapshotParts struct{ Fold, Artifacts bool }

// WantsSnapshot says which parts of a snapshot are due, so that neither ever outweighs
// the events: the fold when more has come than the last one had, and with it the
// artifacts when the log has doubled. chunks: nothing but chunks is about to be written.
func (f *Fold) WantsSnapshot(chunks bool) SnapshotParts {
	if f.tail < max(minSnapshot, f.snapshotSize) {
		return SnapshotParts{}
	}
	if f.Header.Bytes >= max(2*f.ArtifactsAt, minSnapshot) {
		return SnapshotParts{Fold: true, Artifacts: true}
	}
	return SnapshotParts{Fold: !f.unmarked && (!chunks || f.tail >= minChunks)}
}

// Snapshotted notes that the parts of a snapshot have been made that were due, the fold
// with n bytes; 0: they could not be made, and are not tried again at once.
func (f *Fold) Snapshotted(made SnapshotParts, n int) {
	if f.tail = 0; n > 0 {
		f.snapshotSize = n
	}
	if made.Artifacts {
		f.ArtifactsAt = f.Header.Bytes
	}
}

// Lighten lets go of what clients see of the task until that has at most limit bytes,
// artifacts first. Nothing that the rules need is lost.
func (f *Fold) Lighten(limit int) { f.View.lighten(limit) }

// Omit makes the fold keep no artifacts of what clients see, or neither these nor the
// history.
func (f *Fold) Omit(artifacts, history bool) {
	switch {
	case history:
		f.View.keep(noHistory)
		f.View.own()
	case artifacts:
		f.View.keep(noArtifacts)
	}
}

// Has reports whether the fold still has what these parts of a snapshot are built from:
// [Fold.Lighten] may have let it go.
func (f *Fold) Has(parts SnapshotParts) bool {
	return f.View.detail == whole || f.View.detail == noArtifacts && !parts.Artifacts
}

// Encode returns the fold as a snapshot: a version, the private part as JSON, the view
// without its artifacts. artifacts are these, nil if they are not wanted. The fold must
// have what is wanted.
func (f *Fold) Encode(wanted SnapshotParts) (snapshot, artifacts []byte, err error) {
	if !f.Has(wanted) {
		return nil, nil, errors.New("encode snapshot: the view was let go")
	}
	if wanted.Artifacts {
		f.ArtifactsAt = f.Header.Bytes
		artifacts = f.View.appendArtifacts(nil)
	}
	snapshot, err = f.encode()
	return snapshot, artifacts, err
}

func (f *Fold) encode() ([]byte, error) {
	private, err := json.Marshal(&f.saved)
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	b := make([]byte, 0, len(private)+512)
	b = append(b, snapshotVersion)
	b = fmt.Appendf(b, "%010d", len(private))
	b = append(b, private...)
	return f.View.appendBinary(b), nil
}

// DecodeFold reads what Encode wrote; with viewOnly only the view. artifacts may be nil:
// then the fold has those alone that an earlier version has in b. The header is for the
// caller to fill in. The fold keeps parts of what it is built from, which must not be changed.
func DecodeFold(b, artifacts []byte, viewOnly bool) (*Fold, error) {
	if len(b) < 11 || b[0] < 1 || b[0] > snapshotVersion {
		return nil, fmt.Errorf("snapshot is of another version than 1 to %d", snapshotVersion)
	}
	var n int
	if _, err := fmt.Sscanf(string(b[1:11]), "%010d", &n); err != nil || n < 0 || n > len(b)-11 {
		return nil, errors.New("snapshot is cut")
	}
	f := &Fold{snapshotSize: len(b), unmarked: b[0] < 3}
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
		err = fmt.Errorf("%d bytes follow its end", len(rest))
	}
	if err == nil && artifacts != nil {
		err = view.decodeArtifacts(artifacts)
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
