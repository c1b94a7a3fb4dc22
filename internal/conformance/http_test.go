package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// wire makes HTTP requests as one caller.
type wire struct {
	url    string
	client *http.Client
	by     caller
	// extensions is the name of the header of extensions.
	extensions string
}

func wireTo(w *world, by caller, f form) *wire {
	if f.old {
		return &wire{w.url, w.http, by, "X-A2A-Extensions"}
	}
	return &wire{w.url, w.http, by, "A2A-Extensions"}
}

// open makes a request. header are names and values.
func (w *wire) open(ctx context.Context, method, path string, body []byte, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	if w.by.key != "" {
		r.Header.Set("X-API-Key", w.by.key)
	}
	if w.by.version != nil {
		r.Header.Set("A2A-Version", *w.by.version)
	}
	if len(w.by.extensions) > 0 {
		r.Header.Set(w.extensions, strings.Join(w.by.extensions, ", "))
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if w.by.activated != nil {
		var active []string
		for _, line := range resp.Header.Values(w.extensions) {
			for uri := range strings.SplitSeq(line, ",") {
				active = append(active, strings.TrimSpace(uri))
			}
		}
		w.by.activated(active)
	}
	return resp, nil
}

// reply is an answer that has been read.
type reply struct {
	code  int
	media string // type
	body  []byte
}

// do makes a request and reads its answer.
func (w *wire) do(ctx context.Context, method, path string, body []byte, header ...string) (*reply, error) {
	resp, err := w.open(ctx, method, path, body, header...)
	if err != nil {
		return nil, err
	}
	return readReply(resp)
}

func readReply(resp *http.Response) (*reply, error) {
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w after %q", resp.Request.Method, resp.Request.URL, err, text)
	}
	return &reply{resp.StatusCode, mediaOf(resp), text}, nil
}

// mediaOf returns the media type of an answer.
func mediaOf(resp *http.Response) string {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return "no media type: " + err.Error()
	}
	return media
}

// fill decodes JSON, and refuses members that v does not have.
func fill(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("decode %T: %w in %s", v, err, raw)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("decode %T: more than one value in %s", v, raw)
	}
	return nil
}

// encode returns v as JSON.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the cases send nothing that JSON does not have
	}
	return text
}

// frame is one server-sent event.
type frame struct {
	id   string
	data []byte
}

// frames reads a stream of server-sent events (WHATWG HTML §9.2), and closes body at its
// end.
type frames struct {
	body io.Closer
	in   *bufio.Reader
}

func framesOf(resp *http.Response) *frames { return &frames{resp.Body, bufio.NewReader(resp.Body)} }

// next returns the next frame, and io.EOF at the end.
func (f *frames) next() (*frame, error) {
	var out frame
	seen := false
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			_ = f.body.Close()
			if errors.Is(err, io.EOF) && (line != "" || seen) {
				return nil, fmt.Errorf("the stream ends within a frame: %q", line)
			}
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" && seen {
			return &out, nil
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "": // an empty line or a comment
		case "id":
			out.id, seen = value, true
		case "data":
			if out.data != nil {
				out.data = append(out.data, '\n')
			}
			out.data, seen = append(out.data, value...), true
		default:
			return nil, fmt.Errorf("the stream has a field %q", line)
		}
	}
}

// events makes a request that streams. A response that is no stream is given to refused.
func (w *wire) events(ctx context.Context, method, path string, body []byte, after string, refused func(*reply) error, read func([]byte) (*event, error)) *stream {
	header := []string{"Accept", "text/event-stream"}
	if after != "" {
		header = append(header, "Last-Event-ID", after)
	}
	resp, err := w.open(ctx, method, path, body, header...) //nolint:bodyclose // the stream closes it
	if err != nil {
		return broken(err)
	}
	if resp.StatusCode != http.StatusOK {
		got, err := readReply(resp)
		if err == nil {
			err = refused(got)
		}
		return broken(err)
	}
	if mediaOf(resp) != "text/event-stream" {
		_ = resp.Body.Close()
		return broken(fmt.Errorf("a stream is of type %q", resp.Header.Get("Content-Type")))
	}
	f := framesOf(resp)
	return &stream{
		next: func() (*event, error) {
			got, err := f.next()
			if err != nil {
				return nil, err
			}
			e, err := read(got.data)
			if err != nil {
				return nil, err
			}
			e.id = got.id
			return e, nil
		},
		close: func() { _ = resp.Body.Close() },
	}
}
