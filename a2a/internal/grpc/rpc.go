package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// rpc is a call of gRPC while it is served.
type rpc struct {
	service *operation.Service
	http    string // address of the port of HTTP; "": unknown
	ss      grpc.ServerStream
	ctx     context.Context //nolint:containedctx // of the call; canceled when it ends, by whatever
	cancel  context.CancelCauseFunc
	r       *http.Request // the call as a request: its metadata are headers
	method  string        // for the log
	conn    *connection
	as      *method  // nil: outside A2A
	active  []string // extensions

	rest      *engine.Subscription // the events after the beginning of a stream; nil: none
	leave     []func()             // to call when the call has ended, the last first
	opened    bool                 // an event was sent
	unwritten atomic.Int64         // bytes of messages that the transport has
	wrote     chan struct{}        // there are none any more
}

// atEnd has a function called when the call has ended.
func (c *rpc) atEnd(leave func()) { c.leave = append(c.leave, leave) }

// end calls the functions of atEnd.
func (c *rpc) end() {
	for _, leave := range slices.Backward(c.leave) {
		leave()
	}
}

// responseHeader collects the headers of a response. It implements [http.ResponseWriter].
type responseHeader struct{ header http.Header }

func (r responseHeader) Header() http.Header         { return r.header }
func (r responseHeader) WriteHeader(int)             {}
func (r responseHeader) Write(b []byte) (int, error) { return len(b), nil }

// serve serves a call: everything that has to be known before its message is received, then
// the operation.
func (g *Server) serve(ss grpc.ServerStream, as *method) error {
	op := as.op
	return g.call(ss, op.Name, as, func(c *rpc, by auth.Principal) error {
		if err := g.service.Admit(by, op, c.active); err != nil {
			return err
		}
		if err := g.service.Supports(op); err != nil {
			return err
		}
		m, release, err := c.receive(by, g.cfg.ReadTimeout)
		if err != nil {
			return err
		}
		defer release()
		var in operation.Input
		err = g.service.Engine.Process(c.ctx, by, len(m), func() (err error) {
			in, err = as.input(m)
			return err
		})
		if err != nil {
			return err
		}
		if as.old {
			in, err = g.service.ReadOld(c.ctx, by, in, op, v03.REST)
		}
		run := c.unary
		if op.Stream != nil {
			run = c.stream
		}
		if err == nil {
			err = run(by, op, in)
		}
		if as.old {
			err = operation.InOldNames(err, func() v03.Names { return v03.GRPCNames(op.Name) })
		}
		return err
	})
}

// unknown refuses a call of a method that there is not.
func (g *Server) unknown(_ any, ss grpc.ServerStream) error {
	name, _ := grpc.Method(ss.Context())
	return g.call(ss, "", nil, func(*rpc, auth.Principal) error {
		return wire.ErrMethodNotFound.Saying("there is no method " + wire.Clip(name))
	})
}

// open runs a call, which ends with the server. The error that it returns is a status.
//
// open itself follows a stream, once run has returned: a stream waits nearly all the time, and
// the stack of its beginning is free meanwhile.
func (g *Server) open(ss grpc.ServerStream, method string, run func(*rpc) error) error {
	ctx, cancel := context.WithCancelCause(ss.Context())
	defer cancel(nil)
	defer context.AfterFunc(g.all, func() { cancel(context.Cause(g.all)) })()
	conn, _ := connOf(ctx)
	conn.open.Add(1)
	defer conn.open.Add(-1)
	c := &rpc{service: g.service, http: g.cfg.HTTP, ss: ss, ctx: ctx, cancel: cancel, r: requestOf(ctx), method: method, conn: conn, wrote: make(chan struct{}, 1)}
	defer c.end()
	err := c.guarded(func() error {
		if wrong := g.cfg.Guard.Check(c.r); wrong != nil {
			return wrong
		}
		return run(c)
	})
	if err == nil && c.rest != nil {
		err = c.guarded(func() error { return c.rest.Follow(c.ctx, c.events) })
	}
	if err != nil {
		return c.refuse(err)
	}
	return nil
}

// call runs the common beginning of every call that needs an authenticated caller, and then
// run. as is nil for a service outside A2A.
func (g *Server) call(ss grpc.ServerStream, method string, as *method, run func(*rpc, auth.Principal) error) error {
	return g.open(ss, method, func(c *rpc) error {
		if g.all.Err() != nil {
			return httpd.ErrStopping
		}
		if c.conn.over {
			c.conn.turnAway()
			return wire.ErrBusy.Saying("too many open connections, in all or from this address: try again later, and reuse a connection for several calls")
		}
		if g.cfg.Admit != nil {
			leave, err := g.cfg.Admit()
			if err != nil {
				return wire.ErrBusy.Saying(err.Error())
			}
			c.atEnd(leave)
		}
		c.as = as
		by, err := c.begin()
		if err != nil {
			return err
		}
		return run(c, by)
	})
}

// begin authenticates the caller, and checks the metadata.
func (c *rpc) begin() (auth.Principal, error) {
	w := responseHeader{http.Header{}}
	c.active = c.service.Activate(w, c.r)
	for _, name := range []string{operation.ExtensionsHeader, operation.OldExtensionsHeader} {
		if active := w.header.Get(name); active != "" {
			if err := c.ss.SetHeader(metadata.Pairs(strings.ToLower(name), active)); err != nil {
				return auth.Principal{}, fmt.Errorf("set header: %w", err)
			}
		}
	}
	by, err := c.service.Requests.Principal(w, c.r)
	if err != nil || c.as == nil {
		return by, err
	}
	if err := c.checkContent(); err != nil {
		return by, err
	}
	if err := c.service.Versions.CheckCall(c.r, c.as.version()); err != nil {
		return by, err
	}
	return by, nil
}

// requestOf returns a call as a request of HTTP, which it is: the same functions look at its
// credentials, version and extensions. Binary metadata are no headers.
func requestOf(ctx context.Context) *http.Request {
	conn, p := connOf(ctx)
	r := new(http.Request).WithContext(context.WithValue(ctx, http.LocalAddrContextKey, conn.LocalAddr()))
	r.Method, r.Proto, r.ProtoMajor = http.MethodPost, "HTTP/2.0", 2
	r.RemoteAddr, r.TLS = p.Addr.String(), conn.state
	name, _ := grpc.Method(ctx)
	md, _ := metadata.FromIncomingContext(ctx)
	r.URL, r.Header, r.Body = &url.URL{Path: name}, make(http.Header, len(md)), http.NoBody
	for name, values := range md {
		switch {
		case name == ":authority":
			if len(values) == 1 {
				r.Host = values[0]
			}
		case strings.HasPrefix(name, ":") || strings.HasSuffix(name, "-bin"):
		default:
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return r
}

// toHTTP returns the call as a request to the port of HTTP, whose URL the card has.
func (c *rpc) toHTTP(r *http.Request) *http.Request {
	at, err := netip.ParseAddrPort(c.http)
	if err != nil {
		return r
	}
	local := net.TCPAddrFromAddrPort(at)
	if own, is := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); is && local.IP.IsUnspecified() {
		local.IP = own.IP // by which the client reaches this machine
	}
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
	if name := httpd.Hostname(r.Host); name != "" {
		r.Host = name + ":" + strconv.Itoa(int(at.Port()))
	}
	return r
}

// unary runs an operation with one response.
func (c *rpc) unary(by auth.Principal, op *operation.Operation, in operation.Input) error {
	s, ctx := c.service, c.ctx
	var renew engine.Renewal
	if op.Action == auth.Create { // it may wait as long as its task runs
		renew = s.Requests.Renews(c.r)
		defer s.Requests.Lease(ctx, by, renew, c.cancel, op.Action)()
	}
	a := s.Engine.ReserveRead(by)
	defer a.Release()
	text, err := op.Respond(s, ctx, operation.Request{By: by, Bytes: len(in.JSON), Answer: a, Renew: renew, HTTP: c.r, V03: c.as.old, ToHTTP: c.toHTTP}, in, nil)
	if errors.Is(context.Cause(ctx), httpd.ErrEnded) {
		return httpd.ErrEnded // the credential has ended
	}
	if err != nil {
		return err
	}
	m, err := c.as.message(text, c.as.write)
	a.Made()
	if err != nil {
		return err
	}
	return c.send(m)
}
