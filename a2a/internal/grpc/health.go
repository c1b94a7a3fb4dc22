package grpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/internal/stack"
)

const (
	// watchInterval is how often a watched health is looked at.
	watchInterval = time.Second
	// maxWatches is how many watches of health may be open at the same time, a quarter of them
	// from the same address: watches need no authentication, as /readyz needs none. It is also
	// the limit for calls of reflection.
	maxWatches = 64
	// maxProbes is how many other calls of health a connection may have open, and probeTime
	// how long each may take to send its message. So no stranger can keep a probe from its
	// response.
	maxProbes = 8
	probeTime = 3 * time.Second
)

// health is the health of a server, for grpc.health.v1.
type health struct {
	server  *grpc.Server
	ready   func() bool
	watches *httpd.Shares // by address
}

// register adds grpc.health.v1 to g.
func (h *health) register(g *Server) {
	desc := grpc.ServiceDesc{ServiceName: healthpb.Health_ServiceDesc.ServiceName, Metadata: healthpb.Health_ServiceDesc.Metadata}
	for name, answer := range map[string]func(*rpc, string) error{"Check": h.check, "Watch": h.watch, "List": h.list} {
		desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: name, ServerStreams: name == "Watch", Handler: func(_ any, ss grpc.ServerStream) error {
			return g.open(ss, "health "+name, func(c *rpc) error {
				leave, err := h.join(c, name == "Watch")
				if err != nil {
					return err
				}
				defer leave()
				m, release, err := c.receive(auth.Anonymous(), min(probeTime, g.cfg.ReadTimeout))
				if err != nil {
					return err
				}
				defer release()
				var req healthpb.HealthCheckRequest
				if err := proto.Unmarshal(m, &req); err != nil {
					return wire.ErrParse.Saying(notValid("HealthCheckRequest", err))
				}
				return answer(c, req.GetService())
			})
		}})
	}
	h.server.RegisterService(&desc, nil)
}

// join counts a call, until leave is called.
func (h *health) join(c *rpc, watch bool) (leave func(), err error) {
	if watch {
		return h.watches.Take(auth.Principal{Subject: c.service.Requests.Source(c.r)}, 1)
	}
	leave = func() { c.conn.probes.Add(-1) }
	if c.conn.probes.Add(1) > maxProbes {
		leave()
		return nil, wire.ErrBusy.Saying("too many calls of health are open on this connection: end one")
	}
	return leave, nil
}

// status returns the health of a service; "" is the server.
func (h *health) status(service string) *healthpb.HealthCheckResponse {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if _, known := h.server.GetServiceInfo()[service]; service != "" && !known {
		status = healthpb.HealthCheckResponse_SERVICE_UNKNOWN
	} else if h.ready() {
		status = healthpb.HealthCheckResponse_SERVING
	}
	return &healthpb.HealthCheckResponse{Status: status}
}

func (h *health) check(c *rpc, service string) error {
	now := h.status(service)
	if now.GetStatus() == healthpb.HealthCheckResponse_SERVICE_UNKNOWN {
		return wire.Transport(404).Saying("there is no service " + wire.Clip(service))
	}
	return c.sendProto(now)
}

func (h *health) list(c *rpc, _ string) error {
	all := &healthpb.HealthListResponse{Statuses: map[string]*healthpb.HealthCheckResponse{"": h.status("")}}
	for name := range h.server.GetServiceInfo() {
		all.Statuses[name] = h.status(name)
	}
	return c.sendProto(all)
}

// watch sends the health of a service, and again when it changes. An unknown service
// may not become known, but the protocol keeps the call open.
func (h *health) watch(c *rpc, service string) error {
	every := time.NewTicker(watchInterval)
	defer every.Stop()
	last := healthpb.HealthCheckResponse_UNKNOWN
	for {
		if now := h.status(service); now.GetStatus() != last {
			if err := c.sendProto(now); err != nil {
				return err
			}
			last = now.GetStatus()
		}
		select {
		case <-every.C:
		case <-c.ctx.Done():
			if last != healthpb.HealthCheckResponse_SERVICE_UNKNOWN && c.ss.Context().Err() == nil {
				_ = c.sendProto(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}) // best effort
			}
			return errResume.Saying("the server is shutting down")
		}
	}
}

func (c *rpc) sendProto(m proto.Message) error {
	if err := c.ss.SendMsg(m); err != nil {
		return fmt.Errorf("send answer: %w", err)
	}
	return nil
}

// reflected is where the methods of reflection are.
const reflected = "/grpc.reflection."

// intercept runs the common beginning of every call before the handlers of reflection.
func (g *Server) intercept(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	stack.Grow()
	if !g.cfg.Reflection || !strings.HasPrefix(info.FullMethod, reflected) {
		return handler(srv, ss)
	}
	return g.call(ss, "reflection", nil, func(c *rpc, by auth.Principal) error {
		leave, err := g.reflections.Take(by, 1)
		if err != nil {
			return err
		}
		defer leave()
		defer g.service.Requests.Lease(c.ctx, by, g.service.Requests.Renews(c.r), c.cancel, auth.Read)()
		done := make(chan error, 1)
		go func() { done <- c.guarded(func() error { return handler(srv, ss) }) }()
		select {
		case err := <-done:
			if err != nil {
				return wire.ErrInvalidRequest.Saying("the reflection service cannot answer this")
			}
			return nil
		case <-c.ctx.Done(): // the handler ends with the call
			return context.Cause(c.ctx)
		}
	})
}
