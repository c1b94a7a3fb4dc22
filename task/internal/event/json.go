package event

import (
	"encoding/json"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
)

// Events that every send writes append their own JSON, the same as json.Marshal's; the rest
// are rare enough for reflection. Tests compare both for every field.

// jsonAppender is an event that appends its own JSON.
type jsonAppender interface {
	appendJSON(dst []byte) ([]byte, error)
}

// Append appends the JSON of a private event.
func Append(dst []byte, v any) ([]byte, error) {
	if a, ok := v.(jsonAppender); ok {
		return a.appendJSON(dst)
	}
	data, err := json.Marshal(v)
	return append(dst, data...), err
}

func (e *MessageReceived) appendJSON(dst []byte) ([]byte, error) {
	dst = append(append(dst, `{"message":`...), e.Message...) // of EncodeMessage, and so compact
	dst = appendTextField(dst, `,"hash":`, e.Hash)
	dst = appendPrincipal(dst, `,"by":`, &e.By)
	dst = appendTexts(dst, `,"wrongCodes":`, e.WrongCodes)
	dst = appendText(dst, `,"for":`, string(e.For))
	return append(dst, '}'), nil
}

func (e *StepPlanned) appendJSON(dst []byte) (_ []byte, err error) {
	if e.Ask != nil || e.Until != nil { // no send waits for such a step
		data, err := json.Marshal(e)
		return append(dst, data...), err
	}
	dst = appendInt(dst, `{"step":`, e.Step)
	if len(e.Calls) > 0 {
		dst = append(dst, `,"calls":`...)
		for i := range e.Calls {
			dst = append(dst, ListPunctuation(i))
			if dst, err = e.Calls[i].appendJSON(dst); err != nil {
				return dst, err
			}
		}
		dst = append(dst, ']')
	}
	if dst, err = appendOptional(dst, `,"state":`, e.State); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

func (c *PlannedCall) appendJSON(dst []byte) ([]byte, error) {
	dst = appendText(dst, `{"id":`, c.ID)
	dst = appendText(dst, `,"tool":`, c.Tool)
	dst = append(dst, `,"args":`...)
	dst, err := appendRaw(dst, c.Args)
	dst = appendTextField(dst, `,"alias":`, c.Alias)
	dst = appendTexts(dst, `,"mask":`, c.Mask)
	if c.MaskTask {
		dst = append(dst, `,"maskTask":true`...)
	}
	return append(dst, '}'), err
}

func (e *CallStarted) appendJSON(dst []byte) ([]byte, error) {
	dst = appendText(dst, `{"call":`, e.Call)
	dst = appendInt(dst, `,"attempt":`, e.Attempt)
	dst = appendTextField(dst, `,"digest":`, e.Digest)
	dst = appendTextField(dst, `,"grant":`, e.Grant)
	dst, err := appendOptional(dst, `,"args":`, e.Args)
	dst = appendTextField(dst, `,"tool":`, e.Tool)
	if e.Safe {
		dst = append(dst, `,"safe":true`...)
	}
	return append(dst, '}'), err
}

func (e *CallFinished) appendJSON(dst []byte) ([]byte, error) {
	dst = appendText(dst, `{"call":`, e.Call)
	dst = appendText(dst, `,"outcome":`, string(e.Outcome))
	dst, err := appendOptional(dst, `,"result":`, e.Result)
	if err != nil {
		return dst, err
	}
	dst = appendTextField(dst, `,"error":`, e.Error)
	if len(e.Delta) > 0 {
		delta, err := EncodeValue(e.Delta)
		if err != nil {
			return dst, err
		}
		dst = append(dst, `,"delta":`...)
		dst = append(dst, delta...)
	}
	dst, err = appendOptional(dst, `,"actions":`, e.Actions)
	return append(dst, '}'), err
}

// AppendAudit appends the JSON of an audit entry.
func AppendAudit(dst []byte, a *approval.Audit) ([]byte, error) {
	dst = appendInt(dst, `{"v":`, a.V)
	dst, err := appendTime(dst, `,"at":`, a.At)
	if err != nil {
		return dst, err
	}
	dst = appendText(dst, `,"what":`, string(a.What))
	dst = appendText(dst, `,"task":`, a.Task)
	dst = appendTextField(dst, `,"tenant":`, a.Tenant)
	dst = appendTextField(dst, `,"owner":`, a.Owner)
	dst = appendTextField(dst, `,"call":`, a.Call)
	dst = appendTextField(dst, `,"tool":`, a.Tool)
	dst = appendTextField(dst, `,"approval":`, a.Approval)
	dst = appendTextField(dst, `,"digest":`, a.Digest)
	dst = appendTextField(dst, `,"gate":`, a.Gate)
	dst = appendTextField(dst, `,"state":`, string(a.State))
	if !a.By.IsZero() {
		dst = appendPrincipal(dst, `,"by":`, &a.By)
	}
	dst = appendTextField(dst, `,"via":`, a.Via)
	dst = appendTextField(dst, `,"reason":`, a.Reason)
	dst = appendTextField(dst, `,"outcome":`, a.Outcome)
	if a.Attempt != 0 {
		dst = appendInt(dst, `,"attempt":`, a.Attempt)
	}
	if a.Deadline != nil {
		if dst, err = appendTime(dst, `,"deadline":`, *a.Deadline); err != nil {
			return dst, err
		}
	}
	dst = appendTextField(dst, `,"webhook":`, a.Webhook)
	dst = appendTextField(dst, `,"grant":`, a.Grant)
	return append(dst, '}'), nil
}

// appendPrincipal appends a field that is a principal.
func appendPrincipal(dst []byte, name string, p *auth.Principal) []byte {
	dst = append(dst, name...)
	start := len(dst)
	dst = appendTextField(dst, `,"tenant":`, p.Tenant)
	dst = appendText(dst, `,"subject":`, p.Subject)
	dst = appendTextField(dst, `,"person":`, p.Person)
	if p.PersonSeen {
		dst = append(dst, `,"person_seen":true`...)
	}
	dst = appendTextField(dst, `,"login":`, p.Login)
	dst = appendTextField(dst, `,"mark":`, p.Mark)
	dst = appendTextField(dst, `,"kind":`, string(p.Kind))
	dst = appendTexts(dst, `,"roles":`, p.Roles)
	dst = appendTexts(dst, `,"chain":`, p.Chain)
	dst = appendTextField(dst, `,"method":`, p.Method)
	dst[start] = '{' // in place of the first field's comma
	return append(dst, '}')
}

// appendTime appends a field that is a time.
func appendTime(dst []byte, name string, at time.Time) ([]byte, error) {
	dst = append(append(dst, name...), '"')
	dst, err := at.AppendText(dst)
	return append(dst, '"'), err
}

// appendOptional appends a field of JSON, unless it is empty.
func appendOptional(dst []byte, name string, raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return dst, nil
	}
	dst = append(dst, name...)
	return appendRaw(dst, raw)
}
