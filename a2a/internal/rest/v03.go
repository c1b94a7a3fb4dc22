package rest

import (
	"bytes"
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/internal/binding"
	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/strictjson"
)

// OldPrefix begins the paths of HTTP+JSON in A2A 0.3 (§3.5.3 of that version).
const OldPrefix = "/v1"

// oldOperations returns the paths of 0.3, if that is served.
func (h *Handler) oldOperations() []pathOperation {
	if h.Service.OnlyV1 {
		return nil
	}
	var all []pathOperation
	for i := range h.Service.Table {
		op := &h.Service.Table[i]
		old := op.Legacy
		if old == nil {
			continue
		}
		for _, r := range op.Routes {
			if old.Path != "" {
				r.Path = old.Path
			}
			r.Path = OldPrefix + r.Path
			all = append(all, pathOperation{op: op, Route: r, old: old})
		}
	}
	return all
}

// checkPath refuses a request whose path is of another version than it names.
func (h *Handler) checkPath(r *http.Request, p *pathItem) error {
	if p.old {
		return h.Service.Versions.CheckOld(r, "a path that begins with "+OldPrefix, "the paths without it")
	}
	return h.Service.Versions.Check(r, "this path")
}

// isEnvelope reports whether a body of HTTP+JSON is a request in JSON-RPC. No message of 0.3
// has a member of that name.
func (h *Handler) isEnvelope(ctx context.Context, by auth.Principal, raw operation.Checked) (is bool, err error) {
	if !bytes.Contains(raw, []byte(`"jsonrpc"`)) {
		return false, nil
	}
	err = h.Service.Engine.Process(ctx, by, len(raw), func() error {
		members, err := strictjson.Members(raw)
		is = err == nil && slices.ContainsFunc(members, func(m strictjson.Member) bool { return m.Name == "jsonrpc" })
		return nil // decoding refuses a body that is no object
	})
	return is, err
}

// serveOld serves an operation over HTTP+JSON in 0.3. It answers JSON-RPC in JSON-RPC if a
// client, such as Agno's, sends it to a path of HTTP+JSON.
func (h *Handler) serveOld(c echo.Context, by auth.Principal, active []string, v *pathOperation, in operation.Input) (*binding.Stream, error) {
	if v.From == operation.InBody {
		switch is, err := h.isEnvelope(c.Request().Context(), by, in.JSON); {
		case err != nil:
			return nil, err
		case is:
			return h.rpc.ServeBody(c, by, active, in.JSON, v.op)
		}
	}
	sent := in.JSON
	around := binding.Envelope{Media: wire.TypeJSON, Fault: Fault, Old: v.old, Form: v03.REST}
	if in.Query != nil && v.old.Query != nil {
		in.Query = v.old.Query(in.Query)
	}
	if v.From == operation.InBody {
		var err error
		if in, err = h.Service.ReadOld(c.Request().Context(), by, in, v.op, around.Form); err != nil {
			return nil, err
		}
	}
	st, err := h.Serve(c, by, v.op, in, around)
	return st, operation.InOldNames(err, func() v03.Names { return v03.NamesOf(v.op.Name, v03.REST, sent) })
}
