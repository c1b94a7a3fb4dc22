package a2aserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"time"

	"a2a-server/a2a"
	"a2a-server/a2a/agentcard"
	"a2a-server/internal/httpd"
	"a2a-server/internal/metrics"
	"a2a-server/task/engine"
	"a2a-server/task/notify"
	"a2a-server/task/push"
)

const metricsConnections = 64

// monitor is an operator's view of a Server: the metrics on their port, and the details of
// /readyz.
type monitor struct {
	metrics *metrics.Metrics // nil: there are none
	damage  *metrics.Watched
	survey  metrics.Survey
	port    sidePort
}

// meter makes the metrics, if the configuration has a port for them. It is called before the
// store is opened; the metrics are read when the Server is complete.
func (s *Server) meter() {
	switch {
	case s.parts.Metrics.Listen == "":
		return
	case s.given.NoListen:
		s.log.Warn().Msg("admin.listen has no effect: the program that embeds the server opens its own ports")
		return
	}
	m := &s.monitor
	m.metrics = metrics.New(metrics.Config{
		Version: version(), Ready: s.health.Ready, Draining: s.health.Draining,
		Held:    func() bool { _, held := s.engine.Held(); return held },
		Figures: m.survey.Figures,
		Load:    func() engine.Load { return s.engine.Load() },
		Streams: func() int { return s.streams.Taken() },
		LastBackup: func() (moment time.Time) {
			if file := s.store.file; file != nil {
				moment = file.LastBackup()
			}
			return moment
		},
		Push: func() (push.Stats, bool) { return s.push.stats() }, Notifications: func() []notify.Stats { return s.notify.Stats() },
		Tool: func(name string) bool {
			return slices.ContainsFunc(s.tools.catalog.Known(), func(k agentcard.Skill) bool { return k.ID == name }) || slices.Contains(s.tools.Load().Reserved, name)
		},
		Gate: func(name string) bool { return s.tools.Load().Tools.Policy.Has(name) },
	})
}

// watchStore puts the monitor between the store and its readers.
func (s *Server) watchStore() {
	m := &s.monitor
	m.damage = metrics.Watch(s.store.handle, s.log)
	s.store.handle = m.damage
	m.survey.Store, m.survey.Damaged, m.survey.Usage = m.damage, m.damage.Damaged, s.store.usage
	m.survey.Backlog = func(ctx context.Context, limit int) (engine.Backlog, error) { return s.engine.Backlog(ctx, limit) }
	m.survey.Failed = func(ctx context.Context) (messages, summaries int, err error) { return s.notify.Failed(ctx) }
	m.survey.Limit, m.survey.Now = s.limits.Engine.DiskBounds().All, time.Now
}

// observers returns the observers of the engine.
func (m *monitor) observers() []engine.Observer {
	if m.metrics == nil {
		return nil
	}
	return []engine.Observer{m.metrics.Observer()}
}

// listenMetrics opens the port of the metrics, if the configuration has one.
func (s *Server) listenMetrics(k portKey) error {
	if k.at == "" {
		return nil
	}
	l, err := s.listen(k)
	if err != nil {
		return err
	}
	guard := guardOf(s.settings, l.Addr(), k.at)
	l = httpd.NewListener(l, metricsConnections, s.log, time.Now)
	if !loopback(l.Addr()) {
		guard.Hosts = nil // the token protects, and scrapers use addresses
		if s.parts.Certificates != nil {
			l = tls.NewListener(l, s.parts.Certificates)
		} else {
			s.log.Warn().Str("address", l.Addr().String()).Msg("metrics and their token are sent unencrypted: set tls.cert, or listen on 127.0.0.1")
		}
	}
	m := &s.monitor
	m.port = sidePort{httpd.NewPort(l), httpd.NewServer(guard.Wrap(m.metrics.Handler(s.parts.Metrics.Token), a2a.WriteRefusal), s.log)}
	m.port.web.WriteTimeout = metrics.WriteTimeout
	return nil
}

// metricsPublicError refuses metrics without a token on an address that other machines can reach:
// localhost may be any.
func metricsPublicError(a net.Addr, token bool) error {
	if token || loopback(a) {
		return nil
	}
	return fmt.Errorf("%w: other machines can reach %s, and there is no token: set admin.token, or listen on 127.0.0.1", ErrConfig, a)
}

// details returns the lines of the verbose answer of /readyz. A new part of the server that an
// operator looks at adds a line.
func (s *Server) details(ctx context.Context) []httpd.Detail {
	load := s.engine.Load()
	all := []httpd.Detail{
		{Name: "queue", Text: fmt.Sprintf("%d waiting, %d running", load.Waiting, load.Turns)},
	}
	if moment, held := s.engine.Held(); held {
		all = append(all, httpd.Detail{Name: "store", Text: restoredText(moment)})
	}
	f, err := s.monitor.survey.Figures(ctx)
	if err != nil {
		return append(all, httpd.Detail{Name: "store", Text: "cannot be read: " + err.Error()})
	}
	more := ""
	if f.Pending >= metrics.MaxFigure {
		more = "+"
	}
	pending := fmt.Sprintf("%d%s pending", f.Pending, more)
	if f.Pending > 0 {
		pending += fmt.Sprintf(", the oldest for %v", f.Waited(time.Now()).Round(time.Second))
	}
	all = append(all,
		httpd.Detail{Name: "approvals", Text: pending},
		httpd.Detail{Name: "tasks", Text: fmt.Sprintf("%d damaged", f.Damaged)})
	if len(s.tools.Load().Routes) > 0 || f.FailedMessages+f.FailedSummaries > 0 {
		all = append(all, httpd.Detail{Name: "notifications", Text: fmt.Sprintf("%d failed, %d summaries failed", f.FailedMessages, f.FailedSummaries)})
	}
	if f.Sized {
		text := fmt.Sprintf("%d bytes used", f.Used)
		if f.Limit > 0 {
			text += fmt.Sprintf(" of %d (limits.disk)", f.Limit)
		}
		if f.FreeKnown {
			text += fmt.Sprintf(", %d free", f.Free)
		}
		all = append(all, httpd.Detail{Name: "disk", Text: text})
	}
	return all
}
