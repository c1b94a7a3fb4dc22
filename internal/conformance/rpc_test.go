package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// rpc calls methods of JSON-RPC 2.0 (§9; 0.3: §7).
type rpc struct {
	*wire
	form
	n atomic.Int64
}

func connectRPC(w *world, by caller, f form) carrier { return &rpc{wire: wireTo(w, by, f), form: f} }

// answered is an answer of JSON-RPC.
type answered struct {
	JSONRPC string           `json:"jsonrpc"`
	ID      json.RawMessage  `json:"id"`
	Result  *json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// result returns the result of an answer to a request with an id, or the fault that it is.
func result(raw []byte, id string) ([]byte, error) {
	var a answered
	if err := fill(raw, &a); err != nil {
		return nil, err
	}
	if a.JSONRPC != "2.0" || string(a.ID) != id {
		return nil, fmt.Errorf("this is not an answer to the request %s: %s", id, raw)
	}
	if a.Error == nil {
		if a.Result == nil && !bytes.Contains(raw, []byte(`"result":null`)) {
			return nil, fmt.Errorf("an answer has neither a result nor an error: %s", raw)
		}
		if a.Result == nil {
			return nil, nil
		}
		return *a.Result, nil
	}
	var details []detail
	if data := a.Error.Data; len(data) > 0 {
		var in any = &details
		old := struct {
			Details *[]detail `json:"details"`
		}{&details}
		if data[0] == '{' { // as in 0.3, where it is of any form; a list is no surprise there either
			in = &old
		}
		if err := fill(data, in); err != nil {
			return nil, err
		}
	}
	if len(details) == 0 {
		f, err := ofCode(a.Error.Code, a.Error.Message)
		if err != nil {
			return nil, err
		}
		return nil, f
	}
	f, err := faultOf(a.Error.Message, details)
	if err != nil {
		return nil, err
	}
	if want := faults[f.Name].rpc; a.Error.Code != want {
		return nil, fmt.Errorf("the code of %s is %d, want %d", f.Name, a.Error.Code, want)
	}
	return nil, f
}

// request returns the body of a call, and its id. Every other id is a text.
func (c *rpc) request(r request) (body []byte, id string) {
	n := c.n.Add(1)
	id = fmt.Sprint(n)
	if n%2 == 0 {
		id = fmt.Sprintf(`"call-%d"`, n)
	}
	method, params := r.op, maps.Clone(r.params)
	if params == nil {
		params = map[string]any{}
	}
	task, config := "id", "pushNotificationConfigId"
	if push := strings.Contains(r.op, "Push"); !c.old && push {
		task, config = "taskId", "id"
	} else if r.op == "CreateTaskPushNotificationConfig" {
		task = "taskId"
	}
	put(params, task, r.task)
	put(params, config, r.config)
	call := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params}
	if c.old {
		call["method"] = operations[r.op].method
		if len(params) == 0 {
			delete(call, "params")
		}
	}
	return encode(call), id
}

func (c *rpc) call(ctx context.Context, r request) ([]byte, error) {
	body, id := c.request(r)
	return c.post(ctx, body, id)
}

// post sends a body and returns the result of the answer, which has an id.
func (c *rpc) post(ctx context.Context, body []byte, id string, header ...string) ([]byte, error) {
	got, err := c.do(ctx, http.MethodPost, "/", body, header...)
	if err != nil {
		return nil, err
	}
	return c.read(got, id)
}

// read returns the result of an answer.
func (c *rpc) read(got *reply, id string) ([]byte, error) {
	if got.media != "application/json" {
		return nil, fmt.Errorf("the answer is of type %q: %s", got.media, got.body)
	}
	if got.code != http.StatusOK && bytes.Contains(got.body, []byte(`"id":null`)) {
		id = "null" // it was refused before it was read
	}
	out, err := result(got.body, id)
	return out, statusFits(got.code, err)
}

// statusFits checks the HTTP status of an answer: 200, except for the errors of HTTP.
func statusFits(code int, err error) error {
	want := http.StatusOK
	//nolint:errorlint // the fault itself is looked for
	if f, ok := err.(*fault); ok && (slices.Contains(transport, f.Name) || code == http.StatusUnsupportedMediaType && f.Name == "CONTENT_TYPE_NOT_SUPPORTED") {
		want = faults[f.Name].http
		if f.Name == "CONTENT_TYPE_NOT_SUPPORTED" {
			want = code
		}
	}
	if code != want {
		return fmt.Errorf("the HTTP status is %d, want %d, of %w", code, want, err)
	}
	return err
}

func (c *rpc) follow(ctx context.Context, r request, after string, read func([]byte) (*event, error)) *stream {
	body, id := c.request(r)
	refused := func(got *reply) error {
		_, err := c.read(got, id)
		return err
	}
	return c.events(ctx, http.MethodPost, "/", body, after, refused, func(raw []byte) (*event, error) {
		raw, err := result(raw, id)
		if err != nil {
			return nil, err
		}
		return read(raw)
	})
}

func (c *rpc) garbled(ctx context.Context, r request, how garble) error {
	body, id := c.request(r)
	if slices.Contains([]garble{notEncoded, cut, notUTF8, noRequest}, how) {
		id = "null" // JSON-RPC 2.0 §5
	}
	body, header := garbledJSON(body, how)
	_, err := c.post(ctx, body, id, header...)
	return err
}

// garbledJSON returns a request to send a message that is broken, and the header that goes
// with it.
func garbledJSON(body []byte, how garble) (broken []byte, header []string) {
	change := func(old, with string) []byte {
		if !bytes.Contains(body, []byte(old)) {
			panic(fmt.Sprintf("%s has no %s", body, old))
		}
		return bytes.Replace(body, []byte(old), []byte(with), 1)
	}
	parts := `"parts":`
	if !bytes.Contains(body, []byte(parts)) {
		parts = `"content":` // HTTP+JSON in 0.3
	}
	const id, text = `"messageId":"garbled"`, `"garbled text"`
	switch how {
	case notEncoded:
		return []byte("hello"), nil
	case noRequest:
		return []byte("[]"), nil
	case cut:
		return body[:len(body)-2], nil
	case wrongType:
		return change(parts+`[`, parts+`7,"other":[`), nil
	case wrongScalar:
		return change(id, `"messageId":{}`), nil
	case duplicateName:
		return change(id, id+`,"messageId":"other"`), nil
	case notUTF8:
		return change(text, "\"\xff\""), nil
	case hugeNumber:
		return change(text, text+`,"metadata":{"n":9007199254740993}`), nil
	case notDeclared:
		return body, []string{"Content-Type", "text/plain"}
	case unknownField:
		return change(id, id+`,"unheardOf":{"a":[1]}`), nil
	case unknownCall, wrongMethod: // the body is a request
	}
	return body, nil
}
