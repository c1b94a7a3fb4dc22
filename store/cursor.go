package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// A cursor is 8 bytes of the SHA-256 of its version, scope and filter, followed by a position,
// in base64url without padding. It holds no secrets: a forged cursor can only move within its
// own scope.

// EncodeCursor returns the cursor that continues q of s after pos.
func (q Query) EncodeCursor(s Scope, pos []byte) string { return encodeCursor(q.bind(s), pos) }

// DecodeCursor returns the position in q.Cursor, nil when there is none, or
// ErrCursor.
func (q Query) DecodeCursor(s Scope) ([]byte, error) { return decodeCursor(q.bind(s), q.Cursor) }

// EncodeCursor returns the cursor that continues q of s after pos.
func (q RowQuery) EncodeCursor(s Scope, pos []byte) string { return encodeCursor(q.bind(s), pos) }

// DecodeCursor returns the position in q.Cursor, nil when there is none, or
// ErrCursor.
func (q RowQuery) DecodeCursor(s Scope) ([]byte, error) { return decodeCursor(q.bind(s), q.Cursor) }

func (q Query) bind(s Scope) [8]byte {
	return bind(fmt.Sprintf("tasks.v1 %d %q %q %q %d %d", s.kind, s.tenant, s.subject, q.Context, q.State, q.Since))
}

func (q RowQuery) bind(s Scope) [8]byte {
	return bind(fmt.Sprintf("rows.v1 %d %q %q %q %x %q %q %x", s.kind, s.tenant, s.subject, q.Kind, q.Task[:], q.Context, q.Index, q.Prefix))
}

func bind(filter string) [8]byte {
	sum := sha256.Sum256([]byte(filter))
	return [8]byte(sum[:8])
}

func encodeCursor(bound [8]byte, pos []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(bound[:], pos...))
}

func decodeCursor(bound [8]byte, cursor string) ([]byte, error) {
	if cursor == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) <= len(bound) || [8]byte(b[:8]) != bound {
		return nil, ErrCursor
	}
	return b[8:], nil
}

// TaskPosition returns a task's position in an Owner's list. Positions compare as
// bytes, oldest first.
func TaskPosition(t Millis, id TaskID) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(t)), id[:]...)
}

// ParseTaskPosition parses the result of TaskPosition. It returns ErrCursor for
// anything else.
func ParseTaskPosition(b []byte) (Millis, TaskID, error) {
	if len(b) != 24 {
		return 0, TaskID{}, ErrCursor
	}
	return Millis(binary.BigEndian.Uint64(b)), TaskID(b[8:]), nil
}
