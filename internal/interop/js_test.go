package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// jsClient is the JavaScript SDK, run by js/drive.mjs once for each operation.
type jsClient struct {
	node, script string
	url          string
	binding      a2a.TransportProtocol
	version      a2a.ProtocolVersion
	key          string // an API key, "" for none
}

// events yields what the script writes, up to a refusal.
func (j *jsClient) events(ctx context.Context, operation string, req any) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		request, err := json.Marshal(req)
		if err != nil {
			yield(nil, err)
			return
		}
		for raw, err := range run(ctx, j.node, j.script, j.url, string(j.binding), string(j.version), j.key, operation, string(request)) {
			if err == nil {
				err = jsError(raw)
			}
			if !yield(raw, err) || err != nil {
				return
			}
		}
	}
}

// jsError returns the refusal in what the script wrote, nil when it is none. On
// HTTP+JSON the client keeps the details from its user.
func jsError(raw json.RawMessage) error {
	var v struct {
		Refused *struct {
			Reason, Message string
			Data            []struct{ Reason string }
		}
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("read %s: %w", raw, err)
	}
	if v.Refused == nil {
		return nil
	}
	r := &refusal{reason: v.Refused.Reason, detail: untold, text: v.Refused.Message}
	for _, d := range v.Refused.Data {
		if d.Reason != "" && d.Reason != r.reason {
			r.detail = d.Reason
		}
	}
	return r
}

func (j *jsClient) one(ctx context.Context, operation string, req any) (json.RawMessage, error) {
	var last json.RawMessage
	for raw, err := range j.events(ctx, operation, req) {
		if err != nil {
			return nil, err
		}
		last = raw
	}
	return last, nil
}

func (j *jsClient) card(ctx context.Context) (*a2a.AgentCard, error) {
	return decodeCard(j.one(ctx, "card", nil))
}

func (j *jsClient) extended(ctx context.Context) (*a2a.AgentCard, error) {
	return decodeCard(j.one(ctx, "extended", nil))
}

func (j *jsClient) send(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return sent(j.one(ctx, "send", req))
}

func (j *jsClient) get(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return decode[a2a.Task](j.one(ctx, "get", req))
}

func (j *jsClient) list(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return decode[a2a.ListTasksResponse](j.one(ctx, "list", req))
}

func (j *jsClient) cancel(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return decode[a2a.Task](j.one(ctx, "cancel", req))
}

func (j *jsClient) stream(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return decoded(j.events(ctx, "stream", req))
}

func (j *jsClient) subscribe(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return decoded(j.events(ctx, "subscribe", req))
}
