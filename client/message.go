package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// SendMessage sends a SendMessageRequest of A2A 1.0 to the agent, by HTTP+JSON, and returns the
// SendMessageResponse. It needs a URL: the admin socket serves no A2A. It never sends a request
// again: a server without idempotency would make a second task.
func (c *Client) SendMessage(ctx context.Context, request any) (json.RawMessage, error) {
	if c.cfg.Socket != "" {
		return nil, errors.New("the admin socket takes no messages: use the URL of the server")
	}
	agent := *c
	agent.base = strings.TrimSuffix(c.base, path)
	agent.cfg.Anonymous, agent.cfg.Retries = false, -1
	return call[json.RawMessage](ctx, &agent, http.MethodPost, "/message:send", values{"A2A-Version": "1.0"}, request)
}
