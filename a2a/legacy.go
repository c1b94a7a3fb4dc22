package a2a

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	v03 "a2a-server/a2a/v03"
	"a2a-server/auth"
	"a2a-server/internal/strictjson"
)

// oldPrefix begins the paths of HTTP+JSON in A2A 0.3 (§3.5.3 of that version).
const oldPrefix = "/v1"

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

// legacies returns the operations of 0.3 by their names in the [table]. The table also has
// their methods of JSON-RPC.
func legacies() map[string]*legacy {
	return map[string]*legacy{
		"SendMessage":          {read: v03.SendRequest, write: v03.AppendEvent},
		"SendStreamingMessage": {read: v03.SendRequest},
		"GetTask":              {write: v03.AppendTask},
		"ListTasks":            {query: v03.ListQuery, write: v03.AppendTasks},
		"CancelTask":           {write: v03.AppendTask},
		"SubscribeToTask":      {},

		"CreateTaskPushNotificationConfig": {read: v03.CreatePushConfig, write: v03.AppendPushConfig},
		"GetTaskPushNotificationConfig":    {read: v03.PushConfigRequest, write: v03.AppendPushConfig},
		"ListTaskPushNotificationConfigs":  {read: v03.ListPushConfigsRequest, write: v03.AppendPushConfigs},
		"DeleteTaskPushNotificationConfig": {read: v03.PushConfigRequest, write: v03.AppendDeleted},

		"GetExtendedAgentCard": {path: "/card", write: copied},
	}
}

// copied is the write function of an operation whose answer is the same in both versions.
func copied(dst, answer []byte, _ v03.Form) ([]byte, error) { return append(dst, answer...), nil }

// oldRoutes adds the paths of HTTP+JSON in 0.3.
func (s *Server) oldRoutes() {
	var all []visit
	for i := range s.table {
		op := &s.table[i]
		old := s.old[op.name]
		if old == nil {
			continue
		}
		for _, r := range op.routes {
			if old.path != "" {
				r.path = old.path
			}
			r.path = oldPrefix + r.path
			all = append(all, visit{op: op, route: r, old: old})
		}
	}
	s.route(all)
}

// checkPath refuses a request whose path is of another version than it names.
func (s *Server) checkPath(r *http.Request, p *place) error {
	if p.old {
		return s.checkOldVersion(r, "a path that begins with "+oldPrefix, "the paths without it")
	}
	return s.checkVersion(r, "this path")
}

// isEnvelope reports whether a body of HTTP+JSON is a request in JSON-RPC. No message of 0.3
// has a member of that name.
func (s *Server) isEnvelope(ctx context.Context, by auth.Principal, raw checked) (is bool, err error) {
	if !bytes.Contains(raw, []byte(`"jsonrpc"`)) {
		return false, nil
	}
	err = s.cfg.Engine.Process(ctx, by, len(raw), func() error {
		members, err := strictjson.Members(raw)
		is = err == nil && slices.ContainsFunc(members, func(m strictjson.Member) bool { return m.Name == "jsonrpc" })
		return nil // decoding refuses a body that is no object
	})
	return is, err
}

// serveOld serves an operation over HTTP+JSON in 0.3. It answers JSON-RPC in JSON-RPC if a
// client, such as Agno's, sends it to a path of HTTP+JSON.
func (s *Server) serveOld(c echo.Context, by auth.Principal, active []string, v *visit, in input) (*stream, error) {
	if v.from == body {
		switch is, err := s.isEnvelope(c.Request().Context(), by, in.json); {
		case err != nil:
			return nil, err
		case is:
			return s.rpc(c, by, active, in.json, v.op)
		}
	}
	sent := in.json
	around := envelope{media: typeJSON, fault: restFault, old: v.old, form: v03.REST}
	if in.query != nil && v.old.query != nil {
		in.query = v.old.query(in.query)
	}
	if v.from == body {
		var err error
		if in, err = s.readOld(c.Request().Context(), by, in, around); err != nil {
			return nil, err
		}
	}
	st, err := s.serve(c, by, v.op, in, around)
	return st, inOldNames(err, func() v03.Names { return v03.NamesOf(v.op.name, v03.REST, sent) })
}

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
func (s *Server) readOld(ctx context.Context, by auth.Principal, in input, around envelope) (input, error) {
	if around.old.read == nil || len(in.json) == 0 {
		return in, nil
	}
	err := s.cfg.Engine.Process(ctx, by, len(in.json), func() (err error) {
		in.json, err = around.old.read(in.json, around.form)
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

// answer runs an operation, and returns its answer after the head of e.
func (e envelope) answer(s *Server, ctx context.Context, op *operation, c call, in input) ([]byte, error) { //nolint:revive // the parameters of every answer function, after the server
	if e.old == nil {
		return op.answer(s, ctx, c, in, e.head)
	}
	text, err := op.answer(s, ctx, c, in, nil)
	if err != nil {
		return nil, err
	}
	return e.old.write(e.head, text, e.form)
}

// plainFaults reports whether the data of an error in JSON-RPC is an object, as clients that
// know only 0.3 expect it. A client that sends A2A-Version also knows 1.0, whose data is a
// list.
func (s *Server) plainFaults(r *http.Request) bool {
	return !s.cfg.OnlyV1 && len(askedVersions(r)) == 0
}
