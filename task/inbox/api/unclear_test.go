package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"

	"a2a-server/client"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// A change that was cut off may have been made, and the error says so; one that was refused was
// not, and a read changes nothing.
func TestChangeThatMayHaveBeenMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		changes bool
		want    string
	}{
		{context.Canceled, true, client.ReasonUnclear},
		{context.DeadlineExceeded, true, client.ReasonUnclear},
		{httpd.ErrStopping, true, client.ReasonUnclear},
		{errors.New("a planner's"), true, client.ReasonUnclear},
		{engine.ErrBusy, true, client.ReasonBusy},
		{context.DeadlineExceeded, false, client.ReasonBusy},
		{errors.New("a planner's"), false, client.ReasonInternal},
	} {
		w := httptest.NewRecorder()
		x := &exchange{Service: &Service{}, w: w, r: httptest.NewRequest("POST", "/api/v1/x", nil)}
		x.answer(&operation{changes: c.changes, run: func(*exchange) (any, error) { return nil, c.err }})
		var got struct{ Reason string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Reason != c.want {
			t.Errorf("%v (changes: %v) is answered with %s, want %s", c.err, c.changes, w.Body, c.want)
		}
	}
}
