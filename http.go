package a2aserver

import (
	"context"
	"net/http"
	"strings"

	"a2a-server/a2a"
	"a2a-server/internal/httpd"
	"a2a-server/task/inbox/api"
	"a2a-server/task/inbox/web"
	"a2a-server/task/inbox/web/signin"
)

// newServer returns the HTTP server: HTTP/1, and HTTP/2 also without TLS, for clients that use it with
// prior knowledge. There is no write timeout, because streams are long; each write to a stream has its own.
func (s *Server) newServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	web := httpd.NewServer(h, s.log)
	web.ConnContext, web.Protocols = httpd.WithConn, &protocols
	web.ReadHeaderTimeout, web.ReadTimeout, web.MaxHeaderBytes = s.limits.HeaderTimeout, s.settings.Limits.ReadTimeout, s.limits.Header
	return web
}

// protocolHandler serves A2A, and refuses requests beside it as it does itself.
type protocolHandler interface {
	http.Handler
	Local(r *http.Request) *http.Request
	Refuse(w http.ResponseWriter, r *http.Request, status int, message string)
}

// routes returns the handler of all requests: the protocol's routes at the root, the approvals
// API and the pages below their paths, plus the probes. Metrics have their time by these parts and
// by the operations of the protocol.
func (s *Server) routes(protocol protocolHandler, approvals, pages http.Handler, probes httpd.Guard) http.Handler {
	live := httpd.Routed("probes", probes.Wrap(http.HandlerFunc(s.health.ServeLive), a2a.WriteRefusal))
	ready := httpd.Routed("probes", probes.Wrap(http.HandlerFunc(s.health.ServeReady), a2a.WriteRefusal))
	approvals = httpd.Routed("approvals", approvals)
	var signing http.Handler
	if pages != nil {
		pages = httpd.Routed("pages", pages)
	}
	if s.signin != nil {
		signing = httpd.Routed("pages", s.signin.Handler())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		over := httpd.OverLimit(r)
		if over || httpd.MayHaveTwoLengths(r) {
			w.Header().Set("Connection", "close")
		}
		if m := s.monitor.metrics; m != nil {
			t := httpd.NewTimed(w, m.Responded)
			defer t.End()
			w = t
		}
		local, refusal := protocol.Local(r), s.health.Refusal()
		switch path := local.URL.Path; {
		case path == "/livez":
			live.ServeHTTP(w, r)
		case path == "/readyz":
			ready.ServeHTTP(w, r)
		case refusal != "":
			protocol.Refuse(w, r, http.StatusServiceUnavailable, refusal)
		case over:
			protocol.Refuse(w, r, http.StatusServiceUnavailable, "too many open connections, in all or from this address: try again later, and reuse a connection for several requests")
		case path == api.Path || strings.HasPrefix(path, api.Path+"/"):
			s.admit(protocol, approvals, w, local)
		case signing != nil && (path == signin.OutPath || path == signin.Path || strings.HasPrefix(path, signin.Path+"/")):
			s.admit(protocol, signing, w, local)
		case pages != nil && (path == web.Path || strings.HasPrefix(path, web.Path+"/")):
			s.admit(protocol, pages, w, local)
		default:
			s.admit(protocol, protocol, w, r)
		}
	})
}

// admit serves a request, unless too many are being served.
func (s *Server) admit(protocol protocolHandler, h http.Handler, w http.ResponseWriter, r *http.Request) {
	defer s.requests.Add(-1)
	if s.requests.Add(1) > int64(s.limits.Requests) {
		protocol.Refuse(w, r, http.StatusServiceUnavailable, tooMany)
		return
	}
	h.ServeHTTP(w, r)
}

// tooMany refuses a request or a call beyond limits.Requests.
const tooMany = "too many requests in progress: try again later"

// shutServer waits until the last request is answered. Connections that are left when
// ctx ends are closed: all requests have been told to end by then, so they are waiting
// for a client that neither sends nor reads. That is not a failed shutdown.
func (s *Server) shutServer(ctx context.Context) error {
	cut, err := httpd.Stop(ctx, s.web)
	if cut {
		s.log.Warn().Msg("connections are closed, because their clients neither send nor read")
	}
	select {
	case <-s.mounted.Idle():
	case <-ctx.Done():
		s.log.Warn().Msg("requests to the handler are abandoned, because their clients neither send nor read")
	}
	return err
}
