package rules

import (
	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
)

// announce adds the notifications of an approval that the draft asks for or resolves: a row for
// each route that takes them.
func (d *asking) announce(a *approval.Approval, event string) error {
	for i := range d.rules.Routes {
		r := &d.rules.Routes[i]
		if !r.Takes(event, a.Terms.Notify) {
			continue
		}
		row, err := (&task.Notification{V: 1, Approval: a.ID, Event: event, Route: r.Name, At: d.now()}).Row(store.Any)
		if err != nil {
			return err
		}
		d.rows = append(d.rows, row)
	}
	return nil
}
