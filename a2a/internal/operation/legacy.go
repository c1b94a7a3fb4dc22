package operation

import (
	"context"
	"errors"
	"net/url"

	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/strictjson"
)

// Legacy is an operation as A2A 0.3 has it: the same operation, with other JSON around it.
type Legacy struct {
	Method string // of JSON-RPC; "": it is not in JSON-RPC
	Path   string // of HTTP+JSON, if it is not that of 1.0 after /v1

	// Read returns the request of 1.0; nil: the requests are the same.
	Read func(raw []byte, form v03.Form) ([]byte, error)
	// Query returns the query of 1.0; nil: they are the same.
	Query func(url.Values) url.Values
	// Write appends the response of 0.3 to dst. The events of streams are converted by
	// [v03.AppendEvent].
	Write func(dst, response []byte, form v03.Form) ([]byte, error)
}

// copied is the Write function of an operation whose response is the same in both versions.
func copied(dst, response []byte, _ v03.Form) ([]byte, error) { return append(dst, response...), nil }

// InOldNames returns an error about a request of 0.3 with the names that its fields have
// there.
func InOldNames(err error, names func() v03.Names) error {
	if err == nil {
		return nil
	}
	w, known := wire.Of(err)
	if !known || len(w.Violations) == 0 && w.Undecoded == "" {
		return err
	}
	n, out := names(), w.Saying(w.Message)
	if w.Undecoded != "" {
		out.Message = "the request cannot be decoded: " + n.Undecoded(w.Undecoded)
	}
	out.Violations = make([]wire.Violation, len(w.Violations))
	for i, v := range w.Violations {
		field, description := n.Field(v.Field, v.Description)
		out.Violations[i] = wire.Violation{Field: field, Description: description}
		if i == 0 && w.Message == v.Field+" "+v.Description {
			out.Message = field + " " + description
		}
	}
	return out
}

// ReadOld converts a request to that of 1.0.
func (s *Service) ReadOld(ctx context.Context, by auth.Principal, in Input, op *Operation, form v03.Form) (Input, error) {
	old := op.Legacy
	if old.Read == nil || len(in.JSON) == 0 {
		return in, nil
	}
	err := s.Engine.Process(ctx, by, len(in.JSON), func() (err error) {
		if in.JSON, err = old.Read(in.JSON, form); err == nil {
			_ = strictjson.Read(in.JSON, func(r strictjson.Reader) bool { return in.Read(r, op) })
		}
		return err
	})
	if wrong, is := errors.AsType[*v03.Error](err); is {
		if wrong.Field == "" {
			return in, wire.ErrInvalidParams.Saying(wrong.Reason)
		}
		return in, wire.InvalidField(wrong.Field, wrong.Reason)
	}
	return in, err
}
