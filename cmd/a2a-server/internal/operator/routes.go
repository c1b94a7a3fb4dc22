package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	a2aserver "a2a-server"

	"a2a-server/cmd/a2a-server/internal/config"
	channel "a2a-server/cmd/a2a-server/internal/notify"
	"a2a-server/cmd/a2a-server/internal/toolset"
	"a2a-server/internal/egress"
	"a2a-server/task"
	"a2a-server/task/notify"
)

// routes returns the routes of a configuration with their senders, and warnings.
func (o *Operator) routes(conf *config.Config) (routes []notify.Route, warnings []string, _ error) {
	warnings = config.NotifyWarnings(conf)
	var errs []error
	for i := range conf.Notify {
		r := &conf.Notify[i]
		to := &routeSender{
			read: func(s config.Value) (string, error) {
				if s.At == (config.Secret{}) {
					return s.Text, nil
				}
				return toolset.ReadSecret(s.At, o.source.Environment)
			},
			route: r,
			make:  func(is routeSecrets) (notify.Sender, error) { return senderOf(r, is, o.own) },
		}
		switch _, err := to.ready(); {
		case errors.Is(err, errSecret):
			warnings = append(warnings, fmt.Sprintf("notify: route %s: %v; its messages wait", r.Name, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("%w: notify: route %s: %w", a2aserver.ErrConfig, r.Name, err))
		}
		routes = append(routes, notify.Route{
			Route: task.Route{
				Name: r.Name, All: r.All,
				Asked: slices.Contains(r.Events, task.NotifyAsked), Resolved: slices.Contains(r.Events, task.NotifyResolved),
				Reminded: slices.Contains(r.Events, task.NotifyReminded), Escalated: slices.Contains(r.Events, task.NotifyEscalated),
				Requester: r.Requester,
			},
			Arguments: r.Arguments, Sender: to,
		})
	}
	return routes, warnings, errors.Join(errs...)
}

// senderOf returns the sender of a route.
func senderOf(r *config.Route, is routeSecrets, own func() []netip.AddrPort) (notify.Sender, error) {
	to := egress.Config{Allow: r.Networks, Own: own}
	switch r.Kind {
	case config.RouteWebhook:
		return channel.NewWebhook(is.url, is.secret, to)
	case config.RouteSlack:
		return channel.NewSlack(is.url, to)
	case config.RouteSMTP:
		s := &r.SMTP
		return channel.NewSMTP(channel.SMTP{Host: s.Host, Port: s.Port, TLS: s.TLS, User: s.User, Password: is.password, From: s.From, To: r.To, Requester: r.Requester})
	}
	return nil, fmt.Errorf("there is no kind %q of routes", r.Kind)
}

// routeSecrets are the values of a route that may be secrets.
type routeSecrets struct{ url, secret, password string }

// errSecret means that a secret of a route cannot be read now, or is none.
var errSecret = errors.New("a secret cannot be used")

// routeSender is the sender of a route. It reads the secrets each time, as tools do.
type routeSender struct {
	route *config.Route
	read  func(config.Value) (string, error)
	make  func(routeSecrets) (notify.Sender, error)

	mu   sync.Mutex
	is   routeSecrets
	made notify.Sender // with is; nil: not yet
}

// ready returns the sender with the secrets as they are now.
func (s *routeSender) ready() (notify.Sender, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var is routeSecrets
	for to, from := range map[*string]config.Value{&is.url: s.route.URL, &is.secret: s.route.Secret, &is.password: s.route.SMTP.Password} {
		var err error
		if *to, err = s.read(from); err != nil {
			return nil, fmt.Errorf("%w: %w", errSecret, err)
		}
	}
	if s.made != nil && s.is == is {
		return s.made, nil
	}
	made, err := s.make(is)
	if none := (config.Secret{}); err != nil && (s.route.URL.At != none || s.route.Secret.At != none || s.route.SMTP.Password.At != none) {
		return nil, fmt.Errorf("%w: %w", errSecret, err)
	}
	if err != nil {
		return nil, err
	}
	s.made, s.is = made, is
	return made, nil
}

// Send sends a message.
func (s *routeSender) Send(ctx context.Context, m *notify.Message) error {
	to, err := s.ready()
	if err != nil {
		return err
	}
	return to.Send(ctx, m)
}
