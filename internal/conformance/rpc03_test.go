package conformance

import (
	"context"
	"fmt"
	"net/http"
)

// rpc03 is JSON-RPC in A2A 0.3 (specification 0.3.0, §7).
type rpc03 struct{ rpc }

func connectRPC03(w *world, by caller) client {
	return &rpc03{rpc{wire: wire{w.url, w.http, by, "X-A2A-Extensions"}}}
}

func (c *rpc03) card(ctx context.Context) (*card, error) { return wellKnown03(ctx, &c.wire) }

func (c *rpc03) send(ctx context.Context, s sending) (*sent, error) {
	raw, err := c.call(ctx, "message/send", toSend03(s))
	if err != nil {
		return nil, err
	}
	return readSent03(raw)
}

func (c *rpc03) stream(ctx context.Context, s sending) *stream {
	return c.follow(ctx, "message/stream", toSend03(s), "", readEvent03)
}

func (c *rpc03) get(ctx context.Context, id string, history *int) (*task, error) {
	params := map[string]any{"id": id}
	if history != nil {
		params["historyLength"] = *history
	}
	raw, err := c.call(ctx, "tasks/get", params)
	if err != nil {
		return nil, err
	}
	return readTask03(raw)
}

func (c *rpc03) list(context.Context, listing) (*page, error) { return nil, errNotOffered }

func (c *rpc03) cancel(ctx context.Context, id string, metadata map[string]any) (*task, error) {
	params := map[string]any{"id": id}
	if metadata != nil {
		params["metadata"] = metadata
	}
	raw, err := c.call(ctx, "tasks/cancel", params)
	if err != nil {
		return nil, err
	}
	return readTask03(raw)
}

func (c *rpc03) subscribe(ctx context.Context, id, after string) *stream {
	return c.follow(ctx, "tasks/resubscribe", map[string]any{"id": id}, after, readEvent03)
}

func (c *rpc03) setPush(ctx context.Context, p pushConfig) (*pushConfig, error) {
	raw, err := c.call(ctx, "tasks/pushNotificationConfig/set", toPush03(p))
	if err != nil {
		return nil, err
	}
	return readPush03(raw)
}

func (c *rpc03) getPush(ctx context.Context, task, id string) (*pushConfig, error) {
	raw, err := c.call(ctx, "tasks/pushNotificationConfig/get", map[string]any{"id": task, "pushNotificationConfigId": id})
	if err != nil {
		return nil, err
	}
	return readPush03(raw)
}

func (c *rpc03) listPush(ctx context.Context, task string) ([]pushConfig, error) {
	raw, err := c.call(ctx, "tasks/pushNotificationConfig/list", map[string]any{"id": task})
	if err != nil {
		return nil, err
	}
	var in *[]push03
	if err := fill(raw, &in); err != nil || in == nil {
		return nil, fmt.Errorf("this is no list: %s, %w", raw, err)
	}
	var all []pushConfig
	for _, p := range *in {
		one, err := fromPush03(p)
		if err != nil {
			return nil, err
		}
		all = append(all, *one)
	}
	return all, nil
}

func (c *rpc03) deletePush(ctx context.Context, task, id string) error {
	raw, err := c.call(ctx, "tasks/pushNotificationConfig/delete", map[string]any{"id": task, "pushNotificationConfigId": id})
	if err == nil && raw != nil && string(raw) != "null" {
		return fmt.Errorf("the result is %s, want null", raw)
	}
	return err
}

func (c *rpc03) extendedCard(ctx context.Context) (*card, error) {
	raw, err := c.call(ctx, "agent/getAuthenticatedExtendedCard", nil)
	if err != nil {
		return nil, err
	}
	return readCard03(raw)
}

func (c *rpc03) garbled(ctx context.Context, how garble) error {
	if how == unknownCall {
		_, err := c.call(ctx, "tasks/forget", map[string]any{})
		return err
	}
	body, id := c.request("message/send", toSend03(garbledMessage()))
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

// wellKnown03 returns the public card.
func wellKnown03(ctx context.Context, w *wire) (*card, error) {
	got, err := w.do(ctx, http.MethodGet, "/.well-known/agent-card.json", nil)
	if err != nil {
		return nil, err
	}
	return readCard03(got.body)
}
