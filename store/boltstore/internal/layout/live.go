package layout

import (
	"encoding/binary"

	"a2a-server/store"
)

// LiveEntry is the value of a task's id in live: a list or a claim finds its tasks, and
// their order, without reading headers.
type LiveEntry struct {
	Epoch   uint64
	Owner   [16]byte // store.Scope.Key
	Context [16]byte // store.ContextKey
	State   store.State
	Status  store.Millis // StatusTime
}

// LiveEntryOf returns the entry of a task.
func LiveEntryOf(h *store.Header) LiveEntry {
	return LiveEntry{Epoch: h.Epoch, Owner: h.Owner.Key(), Context: store.ContextKey(h.Context), State: h.State, Status: h.StatusTime}
}

const liveEntryBytes = 8 + 16 + 16 + 1 + 8

// Encode returns the value of the entry.
func (e *LiveEntry) Encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, liveEntryBytes), e.Epoch)
	b = append(b, e.Owner[:]...)
	b = append(b, e.Context[:]...)
	b = append(b, byte(e.State))
	return binary.BigEndian.AppendUint64(b, uint64(e.Status))
}

// DecodeLive returns the entry that is the value of a task's id in live. ok is false if it is
// none.
func DecodeLive(v []byte) (e LiveEntry, ok bool) {
	if len(v) != liveEntryBytes {
		return LiveEntry{}, false
	}
	return LiveEntry{
		Epoch: ReadU64(v[:8]), Owner: [16]byte(v[8:]), Context: [16]byte(v[24:]),
		State: store.State(v[40]), Status: store.Millis(ReadU64(v[41:])),
	}, true
}
