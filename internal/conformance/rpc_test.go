package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
)

// rpc calls methods of JSON-RPC 2.0.
type rpc struct {
	wire
	n atomic.Int64
}

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
func result(raw []byte, id string) (json.RawMessage, error) {
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
func (r *rpc) request(method string, params any) (body []byte, id string) {
	n := r.n.Add(1)
	id = fmt.Sprint(n)
	if n%2 == 0 {
		id = fmt.Sprintf(`"call-%d"`, n)
	}
	call := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method}
	if params != nil {
		call["params"] = params
	}
	return encode(call), id
}

// call calls a method with one answer.
func (r *rpc) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, id := r.request(method, params)
	return r.post(ctx, body, id)
}

// post sends a body and returns the result of the answer, which has an id.
func (r *rpc) post(ctx context.Context, body []byte, id string, header ...string) (json.RawMessage, error) {
	got, err := r.do(ctx, http.MethodPost, "/", body, header...)
	if err != nil {
		return nil, err
	}
	return r.read(got, id)
}

// read returns the result of an answer.
func (r *rpc) read(got *reply, id string) (json.RawMessage, error) {
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

// follow calls a method that streams.
func (r *rpc) follow(ctx context.Context, method string, params any, after string, read func([]byte) (*event, error)) *stream {
	body, id := r.request(method, params)
	header := []string{"Accept", "text/event-stream"}
	if after != "" {
		header = append(header, "Last-Event-ID", after)
	}
	resp, err := r.open(ctx, http.MethodPost, "/", body, header...)
	if err != nil {
		return broken(err)
	}
	if resp.StatusCode != http.StatusOK {
		got, err := readReply(resp)
		if err == nil {
			_, err = r.read(got, id)
		}
		return broken(err)
	}
	if mediaOf(resp) != "text/event-stream" {
		_ = resp.Body.Close()
		return broken(fmt.Errorf("a stream is of type %q", resp.Header.Get("Content-Type")))
	}
	return streamOf(resp, func(raw []byte) (*event, error) {
		raw, err := result(raw, id)
		if err != nil {
			return nil, err
		}
		return read(raw)
	})
}

// garbledJSON returns a request to send a message that is broken, and the header that goes
// with it. ok is false if the break is not one of JSON.
func garbledJSON(body []byte, how garble) (broken []byte, header []string, ok bool) {
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
		return []byte("hello"), nil, true
	case noRequest:
		return []byte("[]"), nil, true
	case cut:
		return body[:len(body)-2], nil, true
	case wrongType:
		return change(parts+`[`, parts+`7,"other":[`), nil, true
	case wrongScalar:
		return change(id, `"messageId":{}`), nil, true
	case duplicateName:
		return change(id, id+`,"messageId":"other"`), nil, true
	case notUTF8:
		return change(text, "\"\xff\""), nil, true
	case hugeNumber:
		return change(text, text+`,"metadata":{"n":9007199254740993}`), nil, true
	case notDeclared:
		return body, []string{"Content-Type", "text/plain"}, true
	case unknownField:
		return change(id, id+`,"unheardOf":{"a":[1]}`), nil, true
	case unknownCall, wrongMethod: // it is not a matter of the body
	}
	return nil, nil, false
}

// garbledMessage is what garbledJSON breaks.
func garbledMessage() sending {
	return sending{Message: &message{ID: "garbled", Role: "user", Parts: []part{text("garbled text")}}}
}
