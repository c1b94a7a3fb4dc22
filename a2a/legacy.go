package a2a

import (
	"context"
	"errors"
	"net/url"

	v03 "a2a-server/a2a/v03"
	"a2a-server/auth"
)

// legacy is an operation as A2A 0.3 has it: the same operation, with other JSON around it.
type legacy struct {
	path string // of HTTP+JSON, if it is not that of 1.0 after /v1

	// read returns the request of 1.0; nil: the requests are the same.
	read func(raw []byte, form v03.Form) ([]byte, error)
	// query returns the query of 1.0; nil: they are the same.
	query func(url.Values) url.Values
	// write appends the answer of 0.3 to dst. The events of streams are converted by
	// [v03.AppendEvent].
	write func(dst, answer []byte, form v03.Form) ([]byte, error)
}

// copied is the write function of an operation whose answer is the same in both versions.
func copied(dst, answer []byte, _ v03.Form) ([]byte, error) { return append(dst, answer...), nil }

// inOldNames returns an error about a request of 0.3 with the names that its fields have
// there.
func inOldNames(err error, names func() v03.Names) error {
	if err == nil {
		return nil
	}
	w, known := toWire(err)
	if !known || len(w.violations) == 0 && w.undecoded == "" {
		return err
	}
	n, out := names(), w.saying(w.message)
	if w.undecoded != "" {
		out.message = "the request cannot be decoded: " + n.Undecoded(w.undecoded)
	}
	out.violations = make([]violation, len(w.violations))
	for i, v := range w.violations {
		field, description := n.Field(v.Field, v.Description)
		out.violations[i] = violation{field, description}
		if i == 0 && w.message == v.Field+" "+v.Description {
			out.message = field + " " + description
		}
	}
	return out
}

// readOld converts a request to that of 1.0.
func (s *service) readOld(ctx context.Context, by auth.Principal, in input, old *legacy, form v03.Form) (input, error) {
	if old.read == nil || len(in.json) == 0 {
		return in, nil
	}
	err := s.cfg.Engine.Heavily(ctx, by, len(in.json), func() (err error) {
		in.json, err = old.read(in.json, form)
		return err
	})
	if wrong, is := errors.AsType[*v03.Error](err); is {
		if wrong.Field == "" {
			return in, errInvalidParams.saying(wrong.Reason)
		}
		return in, invalidField(wrong.Field, wrong.Reason)
	}
	return in, err
}
