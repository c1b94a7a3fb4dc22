package a2aserver

import (
	"context"
	"net/url"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/store"
	"a2a-server/task/inbox/web"
	"a2a-server/task/notify"
)

// newPumping returns the pump of a server's notifications.
func newPumping(c notify.Config, settings *Settings, routes []notify.Route) *pumping {
	if base := settings.PublicURL; base != "" && settings.UI.Enabled {
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
