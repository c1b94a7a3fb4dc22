package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"a2a-server/store"
)

// U64 returns a number as keys have it.
func U64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// A word is bytes of any length inside a key: zero bytes are escaped and the end
// is marked, so that keys compare as their words do and the next word can be
// found.
const (
	wordEscape = 0x00
	wordZero   = 0xff // 00 ff stands for a zero byte
	wordEnd    = 0x01 // 00 01 ends the word
)

// AppendWordPrefix appends the beginning of a word: it is a prefix of every word that begins so.
func AppendWordPrefix[T ~string | ~[]byte](key []byte, word T) []byte {
	for i := range len(word) {
		key = append(key, word[i])
		if word[i] == wordEscape {
			key = append(key, wordZero)
		}
	}
	return key
}

// AppendWord appends a word and its end.
func AppendWord[T ~string | ~[]byte](key []byte, word T) []byte {
	return append(AppendWordPrefix(key, word), wordEscape, wordEnd)
}

// CutWord splits the first word off key; ok is false when there is none.
func CutWord(key []byte) (word, rest []byte, ok bool) {
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

// CutOwner splits an owner, as written by appendOwner, off key.
func CutOwner(key []byte) (task store.TaskID, rest []byte, ok bool) {
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

// RowKey returns the key of a row of a task or a scope.
func RowKey(kind string, task store.TaskID, scope store.Scope, key []byte) []byte {
	return append(appendOwner(AppendWord(nil, kind), task, scope), key...)
}

// ContextRowKey is rowKey for a row of a context.
func ContextRowKey(kind string, owner store.Scope, contextID string, key []byte) []byte {
	cx := owner.ContextKey(contextID)
	k := append(AppendWord(nil, kind), make([]byte, 16)...)
	return append(append(k, cx[:]...), key...)
}

// IndexKey returns the key in rowidx of an index entry of the row with this key.
func IndexKey(kind string, ix store.IndexKey, row []byte) []byte {
	k := AppendWord(AppendWord(nil, kind), ix.Index)
	return append(AppendWord(k, ix.Key), row...)
}

// DueKey returns the key of a due row.
func DueKey(t store.Millis, task store.TaskID, scope store.Scope, kind string, key []byte) []byte {
	return append(AppendWord(appendOwner(U64(uint64(t)), task, scope), kind), key...)
}

// ListPrefix returns how the keys in list of an owner's tasks in a state begin.
func ListPrefix(sc [16]byte, state store.State) []byte {
	return append(sc[:], byte(state))
}

// ContextPrefix returns how the keys in list.ctx of the tasks of a context begin.
func ContextPrefix(sc, cx [16]byte) []byte {
	return append(sc[:], cx[:]...)
}

// ListKeys returns the keys in list and list.ctx of a task that is not Live.
func ListKeys(h *store.Header) (list, ctx []byte) {
	sc, cx := h.Owner.Key(), store.ContextKey(h.Context)
	pos := store.TaskPosition(h.StatusTime, h.Task)
	return slices.Concat(sc[:], []byte{byte(h.State)}, pos), slices.Concat(sc[:], cx[:], pos)
}

// After returns the smallest key that is larger than every key with this prefix,
// or nil when there is none.
func After(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for len(end) > 0 {
		if end[len(end)-1]++; end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}

// ReadU64 reads a number of U64; anything else is 0.
func ReadU64(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// CheckEntry returns an error if a bucket cannot have a key, or a derived bucket the value: readers
// trust both. The values of the other buckets have checksums.
func CheckEntry(bucket, key, value []byte) error {
	ok := true
	switch string(bucket) {
	case string(BucketTask):
		ok = len(key) == len(store.TaskID{})
	case string(BucketLog), string(BucketAudit):
		ok = len(key) == 8
	case string(BucketRow):
		ok = isRowKey(key)
	case string(BucketLive):
		_, ok = DecodeLive(value)
		ok = ok && len(key) == len(store.TaskID{})
	case string(BucketList):
		ok = len(key) > 16 && store.State(key[16]) <= store.MaxState && isPosition(key[17:])
	case string(BucketListCtx):
		ok = len(key) > 32 && isPosition(key[32:])
	case string(BucketRowIdx):
		for range 3 {
			if _, key, ok = CutWord(key); !ok {
				return errEntry
			}
		}
		ok = isRowKey(key)
	}
	if !ok {
		return errEntry
	}
	return nil
}

// Readable reports whether a value from which the entries of derived buckets are made is what was written.
// The entry has passed [CheckEntry].
func Readable(bucket, key, value []byte) bool {
	var err error
	switch string(bucket) {
	case string(BucketTask):
		_, err = DecodeHeader(store.TaskID(key), value)
	case string(BucketRow):
		_, err = DecodeRow(key, value)
	}
	return err == nil
}

var errEntry = errors.New("it has another form")

func isRowKey(key []byte) bool {
	_, rest, ok := CutWord(key)
	if ok {
		_, _, ok = CutOwner(rest)
	}
	return ok
}

func isPosition(key []byte) bool {
	_, _, err := store.ParseTaskPosition(key)
	return err == nil
}
