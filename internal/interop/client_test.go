package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// A client is a client of A2A on one binding. Its errors are *refusal where the
// server has refused, and others where the client could not do its work. Breaking
// off a stream closes its connection. All methods may be called concurrently.
type client interface {
	card(context.Context) (*a2a.AgentCard, error)
	extended(context.Context) (*a2a.AgentCard, error)
	send(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	stream(context.Context, *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error]
	get(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error)
	list(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error)
	cancel(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error)
	subscribe(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error]
	hooks
	move(ctx context.Context, url string) error // the server is there now
}

// untold stands for what a client keeps from those who use it.
const untold = "untold"

// A refusal is an error of the server, as a client shows it.
type refusal struct {
	reason string // A2A's name for it, such as TASK_NOT_FOUND, or untold
	detail string // this server's name for it, such as APPROVAL_UNKNOWN, or untold
	text   string
}

// Error returns all that is told.
func (r *refusal) Error() string { return fmt.Sprintf("%s, %s: %s", r.reason, r.detail, r.text) }

// checkRefused checks that the server has refused, and why. detail is "" where the
// server has no name of its own.
func checkRefused(t *testing.T, err error, reason, detail string) {
	t.Helper()
	var r *refusal
	if !errors.As(err, &r) {
		t.Errorf("error = %v, want a refusal: %s %s", err, reason, detail)
		return
	}
	if r.reason != untold && r.reason != reason {
		t.Errorf("reason of %q = %s, want %s", r.text, r.reason, reason)
	}
	if detail != "" && r.detail != untold && r.detail != detail {
		t.Errorf("detail of %q = %s, want %s", r.text, r.detail, detail)
	}
	if r.text == "" {
		t.Errorf("refusal %v says nothing to a person", r)
	}
}

// decodeCard reads the JSON of an agent card, as the SDKs for JavaScript and Python write
// it, but for what a request requires: that for Go has other forms for it.
func decodeCard(raw json.RawMessage, err error) (*a2a.AgentCard, error) {
	fields, err := decode[map[string]json.RawMessage](raw, err)
	if err != nil {
		return nil, err
	}
	delete(*fields, "securityRequirements")
	delete(*fields, "securitySchemes")
	raw, err = json.Marshal(*fields)
	return decode[a2a.AgentCard](raw, err)
}

// lastError returns the error that ends a stream, nil when none does.
func lastError(events iter.Seq2[a2a.Event, error]) error {
	for _, err := range events {
		if err != nil {
			return err
		}
	}
	return nil
}
