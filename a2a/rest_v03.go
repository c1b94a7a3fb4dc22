package a2a

import (
	"bytes"
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	v03 "a2a-server/a2a/v03"
	"a2a-server/auth"
	"a2a-server/internal/strictjson"
)

// oldPrefix begins the paths of HTTP+JSON in A2A 0.3 (§3.5.3 of that version).
const oldPrefix = "/v1"

// oldVisits returns the paths of 0.3, if that is served.
func (h *restHandler) oldVisits() []visit {
	if h.service.cfg.OnlyV1 {
		return nil
	}
	var all []visit
	for i := range h.service.table {
		op := &h.service.table[i]
		old := op.legacy
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
	return all
}

// checkPath refuses a request whose path is of another version than it names.
func (h *restHandler) checkPath(r *http.Request, p *place) error {
	if p.old {
		return h.service.versions.checkOld(r, "a path that begins with "+oldPrefix, "the paths without it")
	}
	return h.service.versions.check(r, "this path")
}

// isEnvelope reports whether a body of HTTP+JSON is a request in JSON-RPC. No message of 0.3
// has a member of that name.
func (h *restHandler) isEnvelope(ctx context.Context, by auth.Principal, raw checked) (is bool, err error) {
	if !bytes.Contains(raw, []byte(`"jsonrpc"`)) {
		return false, nil
	}
	err = h.service.cfg.Engine.Heavily(ctx, by, len(raw), func() error {
		members, err := strictjson.Members(raw)
		is = err == nil && slices.ContainsFunc(members, func(m strictjson.Member) bool { return m.Name == "jsonrpc" })
		return nil // decoding refuses a body that is no object
	})
	return is, err
}

// serveOld serves an operation over HTTP+JSON in 0.3. It answers JSON-RPC in JSON-RPC if a
// client, such as Agno's, sends it to a path of HTTP+JSON.
func (h *restHandler) serveOld(c echo.Context, by auth.Principal, active []string, v *visit, in input) (*stream, error) {
	if v.from == body {
		switch is, err := h.isEnvelope(c.Request().Context(), by, in.json); {
		case err != nil:
			return nil, err
		case is:
			return h.rpc.serveBody(c, by, active, in.json, v.op)
		}
	}
	sent := in.json
	around := envelope{media: typeJSON, fault: restFault, old: v.old, form: v03.REST}
	if in.query != nil && v.old.query != nil {
		in.query = v.old.query(in.query)
	}
	if v.from == body {
		var err error
		if in, err = h.service.readOld(c.Request().Context(), by, in, around.old, around.form); err != nil {
			return nil, err
		}
	}
	st, err := h.serve(c, by, v.op, in, around)
	return st, inOldNames(err, func() v03.Names { return v03.NamesOf(v.op.name, v03.REST, sent) })
}
