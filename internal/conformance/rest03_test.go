package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// rest03 is HTTP+JSON in A2A 0.3 (specification 0.3.0, §3.2.3).
type rest03 struct{ rest }

func connectREST03(w *world, by caller) client {
	return &rest03{rest{wire{w.url, w.http, by, "X-A2A-Extensions"}, []string{"application/json"}, true}}
}

func (c *rest03) card(ctx context.Context) (*card, error) { return wellKnown03(ctx, &c.wire) }

func (c *rest03) send(ctx context.Context, s sending) (*sent, error) {
	raw, err := c.call(ctx, http.MethodPost, "/v1/message:send", encode(toSendREST03(s)))
	if err != nil {
		return nil, err
	}
	return readSentREST03(raw)
}

func (c *rest03) stream(ctx context.Context, s sending) *stream {
	return c.follow(ctx, http.MethodPost, "/v1/message:stream", encode(toSendREST03(s)), "", readEventREST03)
}

func (c *rest03) get(ctx context.Context, id string, history *int) (*task, error) {
	path := "/v1/tasks/" + url.PathEscape(id)
	if history != nil {
		path += fmt.Sprint("?historyLength=", *history)
	}
	raw, err := c.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return readTaskREST03(raw)
}

func (c *rest03) list(ctx context.Context, l listing) (*page, error) {
	q := url.Values{}
	for name, v := range toList10(l) {
		if name == "statusTimestampAfter" {
			name = "lastUpdatedTime"
		}
		q.Set(name, fmt.Sprint(v))
	}
	raw, err := c.call(ctx, http.MethodGet, "/v1/tasks?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	var in struct {
		Tasks         []taskREST03 `json:"tasks"`
		NextPageToken string       `json:"nextPageToken"`
		PageSize      int          `json:"pageSize"`
		TotalSize     int          `json:"totalSize"`
	}
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	out := &page{Size: in.PageSize, Total: in.TotalSize, More: in.NextPageToken != "", next: in.NextPageToken}
	for i := range in.Tasks {
		t, err := in.Tasks[i].read()
		if err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, *t)
	}
	return out, nil
}

func (c *rest03) cancel(ctx context.Context, id string, metadata map[string]any) (*task, error) {
	var body []byte
	if metadata != nil {
		body = encode(map[string]any{"name": "tasks/" + id, "metadata": metadata})
	}
	raw, err := c.call(ctx, http.MethodPost, "/v1/tasks/"+url.PathEscape(id)+":cancel", body)
	if err != nil {
		return nil, err
	}
	return readTaskREST03(raw)
}

func (c *rest03) subscribe(ctx context.Context, id, after string) *stream {
	return c.follow(ctx, http.MethodGet, "/v1/tasks/"+url.PathEscape(id)+":subscribe", nil, after, readEventREST03)
}

func (c *rest03) pushPath(task, id string) string {
	path := "/v1/tasks/" + url.PathEscape(task) + "/pushNotificationConfigs"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

func (c *rest03) readPush(raw []byte) (*pushConfig, error) {
	var in pushREST03
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	return in.read()
}

func (c *rest03) setPush(ctx context.Context, p pushConfig) (*pushConfig, error) {
	raw, err := c.call(ctx, http.MethodPost, c.pushPath(p.Task, ""), encode(pushREST03{Config: toPush03(p).Config}))
	if err != nil {
		return nil, err
	}
	return c.readPush(raw)
}

func (c *rest03) getPush(ctx context.Context, task, id string) (*pushConfig, error) {
	raw, err := c.call(ctx, http.MethodGet, c.pushPath(task, id), nil)
	if err != nil {
		return nil, err
	}
	return c.readPush(raw)
}

func (c *rest03) listPush(ctx context.Context, task string) ([]pushConfig, error) {
	raw, err := c.call(ctx, http.MethodGet, c.pushPath(task, ""), nil)
	if err != nil {
		return nil, err
	}
	var in struct {
		Configs       []pushREST03 `json:"configs"`
		NextPageToken string       `json:"nextPageToken"`
	}
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	var all []pushConfig
	for i := range in.Configs {
		one, err := in.Configs[i].read()
		if err != nil {
			return nil, err
		}
		all = append(all, *one)
	}
	return all, nil
}

func (c *rest03) deletePush(ctx context.Context, task, id string) error {
	_, err := c.call(ctx, http.MethodDelete, c.pushPath(task, id), nil)
	return err
}

func (c *rest03) extendedCard(ctx context.Context) (*card, error) {
	raw, err := c.call(ctx, http.MethodGet, "/v1/card", nil)
	if err != nil {
		return nil, err
	}
	return readCard03(raw)
}

func (c *rest03) garbled(ctx context.Context, how garble) error {
	if how == unknownCall {
		_, err := c.call(ctx, http.MethodPost, "/v1/message:forget", []byte("{}"))
		return err
	}
	if how == wrongMethod {
		_, err := c.call(ctx, http.MethodPut, "/v1/message:send", []byte("{}"))
		return err
	}
	body, header, ok := garbledJSON(encode(toSendREST03(garbledMessage())), how)
	if !ok {
		return errNotOffered
	}
	_, err := c.call(ctx, http.MethodPost, "/v1/message:send", body, header...)
	return err
}
