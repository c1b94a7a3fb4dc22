package conformance

import (
	"context"
	"net/http"
)

// rpc10 is JSON-RPC in A2A 1.0 (§9).
type rpc10 struct{ rpc }

func connectRPC10(w *world, by caller) client {
	return &rpc10{rpc{wire: wire{w.url, w.http, by, "A2A-Extensions"}}}
}

func (c *rpc10) card(ctx context.Context) (*card, error) { return wellKnown10(ctx, &c.wire) }

func (c *rpc10) send(ctx context.Context, s sending) (*sent, error) {
	raw, err := c.call(ctx, "SendMessage", toSend10(s))
	if err != nil {
		return nil, err
	}
	return readSent10(raw)
}

func (c *rpc10) stream(ctx context.Context, s sending) *stream {
	return c.follow(ctx, "SendStreamingMessage", toSend10(s), "", readEvent10)
}

func (c *rpc10) get(ctx context.Context, id string, history *int) (*task, error) {
	params := map[string]any{"id": id}
	if history != nil {
		params["historyLength"] = *history
	}
	raw, err := c.call(ctx, "GetTask", params)
	if err != nil {
		return nil, err
	}
	return readTask10(raw)
}

func (c *rpc10) list(ctx context.Context, l listing) (*page, error) {
	raw, err := c.call(ctx, "ListTasks", toList10(l))
	if err != nil {
		return nil, err
	}
	return readPage10(raw)
}

func (c *rpc10) cancel(ctx context.Context, id string, metadata map[string]any) (*task, error) {
	params := map[string]any{"id": id}
	if metadata != nil {
		params["metadata"] = metadata
	}
	raw, err := c.call(ctx, "CancelTask", params)
	if err != nil {
		return nil, err
	}
	return readTask10(raw)
}

func (c *rpc10) subscribe(ctx context.Context, id, after string) *stream {
	return c.follow(ctx, "SubscribeToTask", map[string]any{"id": id}, after, readEvent10)
}

func (c *rpc10) setPush(ctx context.Context, p pushConfig) (*pushConfig, error) {
	raw, err := c.call(ctx, "CreateTaskPushNotificationConfig", toPush10(p))
	if err != nil {
		return nil, err
	}
	return readPush10(raw)
}

func (c *rpc10) getPush(ctx context.Context, task, id string) (*pushConfig, error) {
	raw, err := c.call(ctx, "GetTaskPushNotificationConfig", map[string]any{"taskId": task, "id": id})
	if err != nil {
		return nil, err
	}
	return readPush10(raw)
}

func (c *rpc10) listPush(ctx context.Context, task string) ([]pushConfig, error) {
	raw, err := c.call(ctx, "ListTaskPushNotificationConfigs", map[string]any{"taskId": task})
	if err != nil {
		return nil, err
	}
	return readPushes10(raw)
}

func (c *rpc10) deletePush(ctx context.Context, task, id string) error {
	_, err := c.call(ctx, "DeleteTaskPushNotificationConfig", map[string]any{"taskId": task, "id": id})
	return err
}

func (c *rpc10) extendedCard(ctx context.Context) (*card, error) {
	raw, err := c.call(ctx, "GetExtendedAgentCard", map[string]any{})
	if err != nil {
		return nil, err
	}
	return readCard10(raw)
}

func (c *rpc10) garbled(ctx context.Context, how garble) error {
	if how == unknownCall {
		_, err := c.call(ctx, "ForgetTask", map[string]any{})
		return err
	}
	body, id := c.request("SendMessage", toSend10(garbledMessage()))
	body, header, ok := garbledJSON(body, how)
	if !ok {
		return errNotOffered
	}
	if how == notEncoded || how == cut || how == notUTF8 || how == noRequest {
		id = "null" // JSON-RPC 2.0 §5
	}
	_, err := c.post(ctx, body, id, header...)
	return err
}

// wellKnown10 returns the public card.
func wellKnown10(ctx context.Context, w *wire) (*card, error) {
	got, err := w.do(ctx, http.MethodGet, "/.well-known/agent-card.json", nil)
	if err != nil {
		return nil, err
	}
	return readCard10(got.body)
}
