package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
)

// rest10 is HTTP+JSON in A2A 1.0 (§11).
type rest10 struct{ rest }

func connectREST10(w *world, by caller) client {
	return &rest10{rest{wire{w.url, w.http, by, "A2A-Extensions"}, []string{"application/a2a+json", "application/json"}, false}}
}

func (c *rest10) card(ctx context.Context) (*card, error) { return wellKnown10(ctx, &c.wire) }

func (c *rest10) send(ctx context.Context, s sending) (*sent, error) {
	raw, err := c.call(ctx, http.MethodPost, "/message:send", encode(toSend10(s)))
	if err != nil {
		return nil, err
	}
	return readSent10(raw)
}

func (c *rest10) stream(ctx context.Context, s sending) *stream {
	return c.follow(ctx, http.MethodPost, "/message:stream", encode(toSend10(s)), "", readEvent10)
}

func (c *rest10) get(ctx context.Context, id string, history *int) (*task, error) {
	path := "/tasks/" + url.PathEscape(id)
	if history != nil {
		path += fmt.Sprint("?historyLength=", *history)
	}
	raw, err := c.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return readTask10(raw)
}

func (c *rest10) list(ctx context.Context, l listing) (*page, error) {
	q := url.Values{}
	for name, v := range toList10(l) {
		q.Set(name, fmt.Sprint(v))
	}
	raw, err := c.call(ctx, http.MethodGet, "/tasks?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return readPage10(raw)
}

func (c *rest10) cancel(ctx context.Context, id string, metadata map[string]any) (*task, error) {
	var body []byte
	if metadata != nil {
		body = encode(map[string]any{"metadata": metadata})
	}
	raw, err := c.call(ctx, http.MethodPost, "/tasks/"+url.PathEscape(id)+":cancel", body)
	if err != nil {
		return nil, err
	}
	return readTask10(raw)
}

func (c *rest10) subscribe(ctx context.Context, id, after string) *stream {
	return c.follow(ctx, http.MethodGet, "/tasks/"+url.PathEscape(id)+":subscribe", nil, after, readEvent10)
}

func (c *rest10) pushPath(task, id string) string {
	path := "/tasks/" + url.PathEscape(task) + "/pushNotificationConfigs"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

func (c *rest10) setPush(ctx context.Context, p pushConfig) (*pushConfig, error) {
	task := p.Task
	p.Task = ""
	raw, err := c.call(ctx, http.MethodPost, c.pushPath(task, ""), encode(toPush10(p)))
	if err != nil {
		return nil, err
	}
	return readPush10(raw)
}

func (c *rest10) getPush(ctx context.Context, task, id string) (*pushConfig, error) {
	raw, err := c.call(ctx, http.MethodGet, c.pushPath(task, id), nil)
	if err != nil {
		return nil, err
	}
	return readPush10(raw)
}

func (c *rest10) listPush(ctx context.Context, task string) ([]pushConfig, error) {
	raw, err := c.call(ctx, http.MethodGet, c.pushPath(task, ""), nil)
	if err != nil {
		return nil, err
	}
	return readPushes10(raw)
}

func (c *rest10) deletePush(ctx context.Context, task, id string) error {
	_, err := c.call(ctx, http.MethodDelete, c.pushPath(task, id), nil)
	return err
}

func (c *rest10) extendedCard(ctx context.Context) (*card, error) {
	raw, err := c.call(ctx, http.MethodGet, "/extendedAgentCard", nil)
	if err != nil {
		return nil, err
	}
	return readCard10(raw)
}

func (c *rest10) garbled(ctx context.Context, how garble) error {
	if how == unknownCall {
		_, err := c.call(ctx, http.MethodPost, "/message:forget", []byte("{}"))
		return err
	}
	if how == wrongMethod {
		_, err := c.call(ctx, http.MethodPut, "/message:send", []byte("{}"))
		return err
	}
	body, header, ok := garbledJSON(encode(toSend10(garbledMessage())), how)
	if !ok {
		return errNotOffered
	}
	_, err := c.call(ctx, http.MethodPost, "/message:send", body, header...)
	return err
}

// codeName returns the name of a google.rpc.Code.
func codeName(c codes.Code) string {
	name := ""
	for i, r := range c.String() {
		if i > 0 && r >= 'A' && r <= 'Z' {
			name += "_"
		}
		name += string(r)
	}
	return strings.ToUpper(name)
}
