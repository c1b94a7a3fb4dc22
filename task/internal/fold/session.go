package fold

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/record"
	"a2a-server/tool/agent"
)

// SessionBound returns the limit of the state of a context: of the keys and values of its rows.
func SessionBound() store.RowBound { return store.RowBound{Rows: 1000, Bytes: 64 << 10} }

// Session is the state that the tools of all tasks of a context share, as it was read from
// the rows of the context ([record.KindState]). Its zero value is the state of a context without
// any. It must not be changed.
type Session struct {
	At     uint64 // for the caller: when it was read
	values map[string]any
	sizes  map[string]uint64 // size of each row; the sum is used.Bytes
	used   store.RowBound
}

// NewSession decodes the rows of kind [record.KindState] of a context.
func NewSession(at uint64, rows []store.Row) (*Session, error) {
	s := &Session{At: at}
	for i := range rows {
		r := &rows[i]
		if r.Damaged {
			return nil, fmt.Errorf("%w: state %q of the context", store.ErrDataLoss, r.Key)
		}
		var value any
		if err := json.Unmarshal(r.Value, &value); err != nil {
			return nil, fmt.Errorf("%w: state %q of the context: %w", store.ErrDataLoss, r.Key, err)
		}
		s.put(string(r.Key), value, r.Value)
	}
	return s, nil
}

// Values returns the state, which must not be changed.
func (s *Session) Values() map[string]any { return s.values }

// put sets a key.
func (s *Session) put(key string, value any, raw []byte) {
	if s.values == nil {
		s.values, s.sizes = map[string]any{}, map[string]uint64{}
	}
	if old, ok := s.sizes[key]; ok {
		s.used.Rows--
		s.used.Bytes -= old
	}
	s.used.Add([]byte(key), raw)
	s.values[key], s.sizes[key] = value, store.RowBytes([]byte(key), raw)
}

// clone returns a copy that put may change.
func (s *Session) clone() *Session {
	c := *s
	c.values, c.sizes = maps.Clone(s.values), maps.Clone(s.sizes)
	return &c
}

// Session returns the state of the context as the fold knows it: as of [Fold.Join], with the
// later changes of the task itself.
func (f *Fold) Session() *Session {
	if f.session == nil {
		return &Session{}
	}
	return f.session
}

// SetSession replaces the state of the context by one with the task's own changes.
func (f *Fold) SetSession(s *Session) { f.session = s }

// Join gives the fold the state of its context. s must be read after the fold's newest event,
// so that it includes the task's own changes: s replaces them.
func (f *Fold) Join(s *Session) {
	f.session, f.joined = s, nil
	if len(s.values) > 0 {
		f.joined = make(map[string]any, len(f.State)+len(s.values))
		maps.Copy(f.joined, f.State)
		maps.Copy(f.joined, s.values)
	}
}

// ToolState returns the state that tools, gates and planners see. It is shared and must
// not be changed.
func (f *Fold) ToolState() map[string]any {
	if f.joined != nil {
		return f.joined
	}
	return f.State
}

// setState folds the state changes of a call. The old maps may be in use.
func (f *Fold) setState(delta map[string]any) {
	merged := func(old map[string]any) map[string]any {
		state := make(map[string]any, len(old)+len(delta))
		maps.Copy(state, old)
		maps.Copy(state, delta)
		return state
	}
	f.State = merged(f.State)
	if f.joined != nil {
		f.joined = merged(f.joined)
	}
}

// ofTask reports whether a key of the state belongs to the task alone.
func (f *Fold) ofTask(key string) bool {
	return f.Header.Context == "" || strings.HasPrefix(key, agent.KeyPrefixTemp)
}

// CheckStateKey returns why key cannot be a key of the state, nil if it can.
func CheckStateKey(key string) error {
	switch {
	case len(key) > store.MaxKey:
		return fmt.Errorf("the key of the state has %d bytes; at most %d are allowed", len(key), store.MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("the key %q of the state is not UTF-8", key)
	}
	return nil
}

// Shared returns the rows for a call's changes of the context's state, and that state
// afterwards.
func (f *Fold) Shared(delta map[string]any) (rows []store.RowChange, after *Session, err error) {
	after = f.Session()
	for _, key := range slices.Sorted(maps.Keys(delta)) {
		if err := CheckStateKey(key); err != nil {
			return nil, nil, err
		}
		if f.ofTask(key) {
			continue
		}
		raw, err := event.EncodeValue(delta[key])
		if err != nil {
			return nil, nil, fmt.Errorf("state %q cannot be kept: %w", key, err)
		}
		if rows == nil {
			after = after.clone()
		}
		after.put(key, delta[key], raw)
		rows = append(rows, store.RowChange{Kind: record.KindState, Key: []byte(key), IfRev: store.Any, Value: raw, OfContext: true})
	}
	return rows, after, nil
}

// RefusedState returns the reason why a call's state changes cannot be kept, or "". The room
// in the context is checked only as this task knows it: the store checks it again.
func RefusedState(f *Fold, delta map[string]any) string {
	if len(delta) == 0 {
		return ""
	}
	if n, err := stateSize(delta); err != nil || n > maxDelta {
		return fmt.Sprintf("it has set %d bytes of state; at most %d are allowed", n, maxDelta)
	}
	rows, after, err := f.Shared(delta)
	if err != nil {
		return err.Error()
	}
	bound := SessionBound()
	if len(rows) == 0 || bound.Check(record.KindState, f.Session().used, after.used) == nil {
		return ""
	}
	return fmt.Sprintf("with what it has set, the state of its context would have %d keys and %d bytes; at most %d keys and %d bytes are allowed",
		after.used.Rows, after.used.Bytes, bound.Rows, bound.Bytes)
}

// maxDelta bounds the changes of a call to the tools' state, in bytes.
const maxDelta = 64 << 10

func stateSize(delta map[string]any) (int, error) {
	if len(delta) == 0 {
		return 0, nil
	}
	data, err := event.EncodeValue(delta)
	return len(data), err
}
