package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// rest makes requests of HTTP+JSON.
type rest struct {
	wire
	media []string // types that an answer may have
	old   bool     // it is of 0.3
}

// call makes a request with one answer.
func (r *rest) call(ctx context.Context, method, path string, body []byte, header ...string) ([]byte, error) {
	got, err := r.do(ctx, method, path, body, header...)
	if err != nil {
		return nil, err
	}
	if got.code != http.StatusOK {
		return nil, r.fault(got)
	}
	if !slices.Contains(r.media, got.media) {
		return nil, fmt.Errorf("the answer is of type %q: %s", got.media, got.body)
	}
	return got.body, nil
}

// fault returns the error that an answer is: google.rpc.Status in JSON (§11.6).
func (r *rest) fault(got *reply) error {
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
	if r.old {
		return f.ofProto03()
	}
	return f
}

// follow makes a request that streams.
func (r *rest) follow(ctx context.Context, method, path string, body []byte, after string, read func([]byte) (*event, error)) *stream {
	header := []string{"Accept", "text/event-stream"}
	if after != "" {
		header = append(header, "Last-Event-ID", after)
	}
	resp, err := r.open(ctx, method, path, body, header...)
	if err != nil {
		return broken(err)
	}
	if resp.StatusCode != http.StatusOK {
		got, err := readReply(resp)
		if err != nil {
			return broken(err)
		}
		return broken(r.fault(got))
	}
	if mediaOf(resp) != "text/event-stream" {
		_ = resp.Body.Close()
		return broken(fmt.Errorf("a stream is of type %q", resp.Header.Get("Content-Type")))
	}
	return streamOf(resp, read)
}
