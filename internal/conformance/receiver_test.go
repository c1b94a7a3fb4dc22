package conformance

import (
	"io"
	"net/http"
	"net/http/httptest"
)

// notification is what a webhook got.
type notification struct {
	Type          string // media type
	Tokens        []string
	Authorization string
	Event         *event `json:",omitempty"` // of 1.0
	Task          *task  `json:",omitempty"` // of 0.3
}

// receiver is a webhook.
type receiver struct {
	url string
	got chan *notification
}

// receives returns a webhook of this scene.
func (s *scene) receives() *receiver {
	r := &receiver{got: make(chan *notification, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		n := &notification{
			Type:   req.Header.Get("Content-Type"),
			Tokens: []string{req.Header.Get("A2A-Notification-Token"), req.Header.Get("X-A2A-Notification-Token")}, Authorization: req.Header.Get("Authorization"),
		}
		if err == nil && s.on.version == "1.0" {
			n.Event, err = read(form{}, body, readEvent)
		} else if err == nil {
			n.Task, err = read(form{old: true, kinds: true}, body, readTask)
		}
		if err != nil {
			s.Errorf("a notification: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.got <- n
	}))
	s.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.url = server.URL + "/hook"
	s.called(server.URL, "https://receiver")
	return r
}

// state returns the state that a notification tells; "": none.
func (n *notification) state() string {
	if n.Task != nil {
		return n.Task.State
	}
	return stateOf(n.Event)
}

// until returns the notifications up to the one that tells a state.
func (r *receiver) until(s *scene, state string) []*notification {
	s.Helper()
	var all []*notification
	for {
		select {
		case n := <-r.got:
			if n.Task != nil {
				s.nameTask(n.Task)
			} else {
				s.nameTask(n.Event.Task)
			}
			if all = append(all, n); n.state() == state {
				s.record("a webhook gets", all)
				return all
			}
		case <-s.ctx.Done():
			s.Fatalf("the webhook got %d notifications, and none of %s", len(all), state)
		}
	}
}
