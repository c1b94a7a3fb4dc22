package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"a2a-server/store"
)

var (
	bucketMeta    = []byte("meta")
	bucketLog     = []byte("log")
	bucketTask    = []byte("task")
	bucketLive    = []byte("live")
	bucketList    = []byte("list")
	bucketListCtx = []byte("list.ctx")
	bucketRow     = []byte("row")
	bucketRowIdx  = []byte("rowidx")
	bucketDue     = []byte("due")
	bucketAudit   = []byte("audit")
)

func u64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// A word is bytes of any length inside a key: zero bytes are escaped and the end
// is marked, so that keys compare as their words do and the next word can be
// found.
const (
	wordEscape = 0x00
	wordZero   = 0xff // 00 ff stands for a zero byte
	wordEnd    = 0x01 // 00 01 ends the word
)

func appendWordPrefix[T ~string | ~[]byte](key []byte, word T) []byte {
	for i := range len(word) {
		key = append(key, word[i])
		if word[i] == wordEscape {
			key = append(key, wordZero)
		}
	}
	return key
}

func appendWord[T ~string | ~[]byte](key []byte, word T) []byte {
	return append(appendWordPrefix(key, word), wordEscape, wordEnd)
}

// cutWord splits the first word off key; ok is false when there is none.
func cutWord(key []byte) (word, rest []byte, ok bool) {
	for i := 0; i+1 < len(key); i++ {
		if key[i] != wordEscape {
			continue
		}
		if key[i+1] == wordEnd {
			return bytes.ReplaceAll(key[:i], []byte{wordEscape, wordZero}, []byte{wordEscape}), key[i+2:], true
		}
		i++
	}
	return nil, nil, false
}

// appendOwner writes whom a row or due row belongs to: its task, or 16 zero bytes
// and the key of its scope, or of its context.
func appendOwner(key []byte, task store.TaskID, scope store.Scope) []byte {
	key = append(key, task[:]...)
	if task.IsZero() {
		sc := scope.Key()
		key = append(key, sc[:]...)
	}
	return key
}

// cutOwner splits an owner, as written by appendOwner, off key.
func cutOwner(key []byte) (task store.TaskID, rest []byte, ok bool) {
	if len(key) < 16 {
		return task, nil, false
	}
	task, key = store.TaskID(key[:16]), key[16:]
	if task.IsZero() {
		if len(key) < 16 {
			return task, nil, false
		}
		key = key[16:]
	}
	return task, key, true
}

func rowKey(kind string, task store.TaskID, scope store.Scope, key []byte) []byte {
	return append(appendOwner(appendWord(nil, kind), task, scope), key...)
}

// contextRowKey is rowKey for a row of a context.
func contextRowKey(kind string, owner store.Scope, contextID string, key []byte) []byte {
	cx := owner.ContextKey(contextID)
	k := append(appendWord(nil, kind), make([]byte, 16)...)
	return append(append(k, cx[:]...), key...)
}

func indexKey(kind string, ix store.IndexKey, row []byte) []byte {
	k := appendWord(appendWord(nil, kind), ix.Index)
	return append(appendWord(k, ix.Key), row...)
}

func dueKey(t store.Millis, task store.TaskID, scope store.Scope, kind string, key []byte) []byte {
	return append(appendWord(appendOwner(u64(uint64(t)), task, scope), kind), key...)
}

func listPrefix(sc [16]byte, state store.State) []byte {
	return append(sc[:], byte(state))
}

func ctxPrefix(sc, cx [16]byte) []byte {
	return append(sc[:], cx[:]...)
}

// listKeys returns the keys in list and list.ctx of a task that is not Live.
func listKeys(h *store.Header) (list, ctx []byte) {
	sc, cx := h.Owner.Key(), store.ContextKey(h.Context)
	pos := store.TaskPosition(h.StatusTime, h.Task)
	return slices.Concat(sc[:], []byte{byte(h.State)}, pos), slices.Concat(sc[:], cx[:], pos)
}

// liveEntry is the value of a task's id in live: a list or a claim finds its tasks, and
// their order, without reading headers.
type liveEntry struct {
	epoch   uint64
	owner   [16]byte // store.Scope.Key
	context [16]byte // store.ContextKey
	state   store.State
	status  store.Millis // StatusTime
}

func liveEntryOf(h *store.Header) liveEntry {
	return liveEntry{epoch: h.Epoch, owner: h.Owner.Key(), context: store.ContextKey(h.Context), state: h.State, status: h.StatusTime}
}

const liveEntryBytes = 8 + 16 + 16 + 1 + 8

func (e *liveEntry) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, liveEntryBytes), e.epoch)
	b = append(b, e.owner[:]...)
	b = append(b, e.context[:]...)
	b = append(b, byte(e.state))
	return binary.BigEndian.AppendUint64(b, uint64(e.status))
}

// decodeLive panics when the value is not an entry, as an image does where it is damaged.
func decodeLive(v []byte) liveEntry {
	if len(v) != liveEntryBytes {
		panic(&pageError{bucketLive, fmt.Errorf("bucket %s has an entry of %d bytes", bucketLive, len(v))})
	}
	return liveEntry{
		epoch: readU64(v[:8]), owner: [16]byte(v[8:]), context: [16]byte(v[24:]),
		state: store.State(v[40]), status: store.Millis(readU64(v[41:])),
	}
}

// after returns the smallest key that is larger than every key with this prefix,
// or nil when there is none.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for len(end) > 0 {
		if end[len(end)-1]++; end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}
