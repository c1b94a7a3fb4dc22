package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
)

// rest makes requests of HTTP+JSON (§11; 0.3: §3.2.3).
type rest struct {
	*wire
	form
}

func connectREST(w *world, by caller, f form) carrier { return &rest{wireTo(w, by, f), f} }

// at returns where a request goes, and its body.
func (c *rest) at(r request) (verb, path string, body []byte) {
	to := operations[r.op]
	path = to.path
	if c.old {
		path = "/v1" + strings.ReplaceAll(path, "/extendedAgentCard", "/card")
	}
	path = strings.NewReplacer("{task}", url.PathEscape(r.task), "{config}", url.PathEscape(r.config)).Replace(path)
	switch {
	case r.params == nil:
	case to.verb == http.MethodGet:
		q := url.Values{}
		for name, v := range r.params {
			q.Set(name, fmt.Sprint(v))
		}
		path += "?" + q.Encode()
	default:
		body = encode(r.params)
	}
	return to.verb, path, body
}

func (c *rest) call(ctx context.Context, r request) ([]byte, error) {
	verb, path, body := c.at(r)
	return c.answer(ctx, verb, path, body)
}

// answer makes a request with one answer.
func (c *rest) answer(ctx context.Context, verb, path string, body []byte, header ...string) ([]byte, error) {
	got, err := c.do(ctx, verb, path, body, header...)
	if err != nil {
		return nil, err
	}
	if got.code != http.StatusOK {
		return nil, c.fault(got)
	}
	if got.media != "application/json" && (c.old || got.media != "application/a2a+json") {
		return nil, fmt.Errorf("the answer is of type %q: %s", got.media, got.body)
	}
	return got.body, nil
}

// fault returns the error that an answer is: google.rpc.Status in JSON (§11.6).
func (c *rest) fault(got *reply) error {
	var in struct {
		Error *struct {
			Code    int      `json:"code"`
			Status  string   `json:"status"`
			Message string   `json:"message"`
			Details []detail `json:"details"`
		} `json:"error"`
	}
	if err := fill(got.body, &in); err != nil {
		return fmt.Errorf("%d: %w", got.code, err)
	}
	if in.Error == nil || got.media != "application/json" {
		return fmt.Errorf("%d, of type %q: %s", got.code, got.media, got.body)
	}
	f, err := faultOf(in.Error.Message, in.Error.Details)
	if err != nil {
		return err
	}
	want := faults[f.Name]
	if got.code == http.StatusUnsupportedMediaType {
		want.http = got.code // the type of the body, not of a part
	}
	if got.code != want.http || in.Error.Code != want.http || in.Error.Status != codeName(want.grpc) {
		return fmt.Errorf("%s is %d with %d and %s, want %d and %s", f.Name, got.code, in.Error.Code, in.Error.Status, want.http, codeName(want.grpc))
	}
	if c.old {
		return f.ofProto03()
	}
	return f
}

func (c *rest) follow(ctx context.Context, r request, after string, read func([]byte) (*event, error)) *stream {
	verb, path, body := c.at(r)
	return c.events(ctx, verb, path, body, after, func(got *reply) error { return c.fault(got) }, read)
}

func (c *rest) garbled(ctx context.Context, r request, how garble) error {
	verb, path, body := c.at(r)
	var header []string
	if how == wrongMethod {
		verb = http.MethodPut
	} else {
		body, header = garbledJSON(body, how)
	}
	_, err := c.answer(ctx, verb, path, body, header...)
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
