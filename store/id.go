package store

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/google/uuid"
)

// TaskID names a task: the 16 bytes of a UUID, version 7 for tasks made here, so
// that new rows are neighbours on disk. The zero TaskID names no task.
type TaskID [16]byte

// NewTaskID returns a new UUIDv7. Ids made by the same process strictly increase.
func NewTaskID() TaskID { return TaskID(uuid.Must(uuid.NewV7())) }

// ParseTaskID parses the canonical text form, 36 characters in lower or upper case; ok is
// false for anything else. No task here has an id in another form, so callers answer such an
// id like an unknown task.
func ParseTaskID(s string) (id TaskID, ok bool) {
	if len(s) != 36 {
		return TaskID{}, false
	}
	u, err := uuid.Parse(s)
	return TaskID(u), err == nil
}

// String returns the canonical text form in lower case.
func (id TaskID) String() string { return uuid.UUID(id).String() }

// IsZero reports whether id names no task.
func (id TaskID) IsZero() bool { return id == TaskID{} }

// Created returns the time that a UUIDv7 carries; for other versions the result
// is meaningless but in range.
func (id TaskID) Created() Millis {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return Millis(ms)
}

// ContextKey returns the form of a context id that is used in keys: the bytes of a
// canonical UUID, else 16 bytes of its SHA-256, so that an id from outside cannot
// change a key's length.
func ContextKey(contextID string) [16]byte {
	if len(contextID) == 36 {
		if u, err := uuid.Parse(contextID); err == nil && !strings.ContainsAny(contextID, "ABCDEF") {
			return u
		}
	}
	sum := sha256.Sum256([]byte(contextID))
	return [16]byte(sum[:16])
}

// Millis is a point in time: milliseconds since the Unix epoch, UTC.
type Millis int64

// MillisOf returns t as Millis, truncated to the millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time returns m as a time in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }
