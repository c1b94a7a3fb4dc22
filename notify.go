package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"sync"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/app/config"
	"a2a-server/internal/egress"
	channel "a2a-server/internal/notify"
	"a2a-server/internal/toolset"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/inbox/web"
	"a2a-server/task/notify"
)

// routes returns the routes of a configuration with their senders, and warnings. own returns the
// addresses on which the server listens.
func (c *Config) routes(conf *config.Config, own func() []netip.AddrPort) (routes []notify.Route, warnings []string, _ error) {
	warnings = config.NotifyWarnings(conf)
	var errs []error
	for i := range conf.Notify {
		r := &conf.Notify[i]
		to := &routeSender{
			read: func(s config.Value) (string, error) {
				if s.At == (config.Secret{}) {
					return s.Text, nil
				}
				return toolset.ReadSecret(s.At, c.Environment)
			},
			route: r,
			make:  func(is routeSecrets) (notify.Sender, error) { return senderOf(r, is, own) },
		}
		switch _, err := to.ready(); {
		case errors.Is(err, errSecret):
			warnings = append(warnings, fmt.Sprintf("notify: route %s: %v; its messages wait", r.Name, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("%w: notify: route %s: %w", ErrConfig, r.Name, err))
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
		return channel.NewWebhook(channel.Webhook{URL: is.url, Secret: is.secret, Egress: to})
	case config.RouteSlack:
		return channel.NewSlack(channel.Slack{URL: is.url, Egress: to})
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

// taskRoutes returns routes as the engine knows them.
func taskRoutes(routes []notify.Route) (all []task.Route) {
	for _, r := range routes {
		all = append(all, r.Route)
	}
	return all
}

// newPumping returns the pump of a server's notifications.
func newPumping(c notify.Config, conf *config.Config, routes []notify.Route) *pumping {
	if base := conf.PublicURL; base != "" && conf.UI.Enabled {
		c.Link = func(approval string) string {
			if approval == "" {
				return base + web.Path + "/"
			}
			return base + web.Path + "/approvals/" + url.PathEscape(approval)
		}
	}
	return &pumping{Pump: notify.New(c, routes), store: c.Store}
}

// pumping sends notifications, and lists them.
type pumping struct {
	*notify.Pump
	store store.Handle
}

// list lists the messages about approvals in tasks that by oversees, and for admins the summaries
// that have failed. A page may be empty and not the last.
func (n *pumping) list(ctx context.Context, by auth.Principal, q client.NotificationQuery) (out client.NotificationPage, err error) {
	scope, err := overseen(by, q.Anonymous, q.State, "waiting", "retrying", "failed", "damaged")
	if err != nil {
		return out, err
	}
	selected := notify.Query{State: q.State}
	admin := by.May(auth.Admin) == nil // errors name hosts and people of the operator
	if admin && !q.Anonymous {         // summaries count messages of all tenants
		selected.Since = n.Kept()
	}
	out.Items, out.Next, err = readPage(cursorPrefix("notifications v1", q.State, q.Route), q.Cursor, q.Limit, func(cursor string, limit int) ([]notify.State, string, error) {
		selected.Cursor, selected.Limit = cursor, limit
		return notify.List(ctx, n.store, scope, selected)
	}, func(s *notify.State) (client.Notification, bool) {
		item := client.Notification{ID: s.ID, Route: s.Route, Event: s.Event, Approval: s.Approval, State: s.State, At: s.At, Tries: s.Tries, Next: s.Next, Count: s.Count}
		if admin {
			item.Error = s.Error
		}
		if !s.Task.IsZero() {
			item.Task = s.Task.String()
		}
		return item, q.Route == "" || q.Route == s.Route
	})
	return out, err
}
