package fold

import (
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/task/internal/view"
)

// snapshotVersion is the first byte of a snapshot.
const snapshotVersion = 1

const (
	// minSnapshot is how many bytes of events at least must have been added since the
	// last snapshot.
	minSnapshot = 16 << 10
	// minChunks is the same for batches of chunks. A reader without artifacts skips them,
	// which is quick, and the turn ends with a snapshot.
	minChunks = 1 << 20
	// minReadBack is the growth of the log since the last snapshot of the artifacts above
	// which a stream waits for the next one: if the View has dropped them, the log is read
	// back, and before that all writes in flight have to be durable.
	minReadBack = 4 << 20
)

// SnapshotParts are parts of a snapshot. There is no snapshot of the artifacts alone.
type SnapshotParts struct{ Fold, Artifacts bool }

// WantsSnapshot returns which parts of a snapshot are due. Neither part may ever cost
// more than the events: the fold is due when more bytes have been added than its last
// snapshot had, and with it the artifacts when the log has doubled. chunks says that only
// chunks are about to be written: then the artifacts that the View has let go of are due
// less often.
func (f *Fold) WantsSnapshot(chunks bool) SnapshotParts {
	if f.tail < max(minSnapshot, f.snapshotSize) {
		return SnapshotParts{}
	}
	both := SnapshotParts{Fold: true, Artifacts: true}
	if f.Header.Bytes >= max(2*f.ArtifactsAt, minSnapshot) &&
		(!chunks || f.Has(both) || f.Header.Bytes >= f.ArtifactsAt+minReadBack) {
		return both
	}
	return SnapshotParts{Fold: !chunks || f.tail >= minChunks}
}

// Snapshotted records that the due parts of a snapshot have been made, the fold with n
// bytes. n is 0 if that failed; it is then not retried immediately.
func (f *Fold) Snapshotted(made SnapshotParts, n int) {
	if f.tail = 0; n > 0 {
		f.snapshotSize = n
	}
	if made.Artifacts {
		f.ArtifactsAt = f.Header.Bytes
	}
}

// Has reports whether the fold still has the content for these parts of a snapshot:
// [view.View.Lighten] may have dropped it.
func (f *Fold) Has(parts SnapshotParts) bool { return f.View.Keeps(parts.Artifacts) }

// Encode returns the fold as a snapshot: a version, the private part as JSON, and the
// view without its artifacts. artifacts has the artifacts, nil if they are not wanted.
// The fold must have the wanted parts; see [Fold.Has].
func (f *Fold) Encode(wanted SnapshotParts) (snapshot, artifacts []byte, err error) {
	if !f.Has(wanted) {
		return nil, nil, errors.New("encode snapshot: the view was let go")
	}
	if wanted.Artifacts {
		f.ArtifactsAt = f.Header.Bytes
		artifacts = f.View.AppendArtifacts(nil)
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
	return f.View.AppendBinary(b), nil
}

// Decode decodes the result of Encode; with viewOnly only the view. If artifacts is nil,
// the fold has no artifacts. The caller must fill in the header. The fold keeps slices of b and artifacts, which must not be changed.
func Decode(b, artifacts []byte, viewOnly bool) (*Fold, error) {
	if len(b) < 11 || b[0] != snapshotVersion {
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
	}
	view, err := view.Decode(b[11+n:])
	if err == nil && artifacts != nil {
		err = view.DecodeArtifacts(artifacts)
	}
	if err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	f.View = view
	return f, nil
}
