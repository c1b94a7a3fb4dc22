package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// shown is an approval as it is shown: its JSON decoded once, strictly, so that all
// dialects show what is hashed, validated and run.
type shown struct {
	*approval.Approval
	hint            string // never empty, fit to be seen
	args            map[string]any
	payload, schema any // nil when there is none
}

func show(a *approval.Approval) (*shown, error) {
	s := &shown{Approval: a, hint: visible.Text(a.Hint), args: map[string]any{}}
	if s.hint == "" {
		s.hint = defaultHint(a)
	}
	if len(a.Args) > 0 {
		args, err := strictjson.DecodeObject(a.Args)
		if err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		s.args = args
	}
	var err error
	if s.payload, err = decode(a.Payload); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if s.schema, err = decode(a.Schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

func defaultHint(a *approval.Approval) string {
	name := visible.Line(a.Tool)
	switch a.Kind {
	case approval.KindCall:
		return "Approve or reject this call of " + name + "."
	case approval.KindOutcome:
		return "This call of " + name + " was started, and nobody knows what came of it. Approve to run it again, reject to give up."
	case approval.KindQuestion:
		return name + " needs an answer."
	}
	return name + " needs a decision."
}

// callID is the id that an asking client knows the call by. An alias that looks like an
// id of ours is not shown: it would pass for another call. None is taken any more, but
// tasks of earlier servers may have one.
func (s *shown) callID() string {
	if s.Alias != "" && !approval.LooksLikeOurID(s.Alias) {
		return s.Alias
	}
	return s.Call
}

// confirmable reports whether a yes or no of the A2A client answers s.
func (s *shown) confirmable() bool { return confirmable(s.Approval) }

func confirmable(a *approval.Approval) bool {
	return a.Kind != approval.KindQuestion && !a.Elsewhere()
}

// decode is a strict decode that takes no bytes for null.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return strictjson.Decode(raw)
}

// encode writes a decoded value as compact JSON with sorted names.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // "<" is for a person to read
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
