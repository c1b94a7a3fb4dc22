package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A tape stands between clients and a server, hands everything on as it is, and keeps
// what went over the wire. Its address stays when its server is replaced.
type tape struct {
	url    string
	server atomic.Pointer[url.URL]
	cards  atomic.Int32 // times that the agent card was read
	key    string       // an API key that is sent with every request, "": none

	mu        sync.Mutex
	idle      *sync.Cond
	open      int // exchanges whose answer is under way
	exchanges []*exchange
}

// An exchange is a request and its answer.
type exchange struct {
	method, path string
	header       http.Header
	asked        []byte
	status       int
	kind         string // the media type of the answer
	answered     bytes.Buffer
}

// startTape starts a tape without a server.
func startTape(t *testing.T) *tape {
	t.Helper()
	tp := &tape{}
	tp.idle = sync.NewCond(&tp.mu)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(tp.server.Load())
			r.Out.Host = r.In.Host
			if tp.key != "" {
				r.Out.Header.Set("X-API-Key", tp.key)
			}
		},
		FlushInterval: -1,
		// While a server is killed, its clients see their connection break.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tp.pass(proxy, w, r) }))
	t.Cleanup(s.Close)
	tp.url = s.URL
	return tp
}

// recorded starts a server, and a tape in front of it.
func recorded(t *testing.T, p programs, flags ...string) (*tape, *server) {
	t.Helper()
	tp := startTape(t)
	s := start(t, p.server, t.TempDir(), flags...)
	tp.lead(t, s)
	return tp, s
}

// lead leads to a server from now on.
func (tp *tape) lead(t *testing.T, s *server) {
	t.Helper()
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	tp.server.Store(to)
}

func (tp *tape) pass(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(asked))
	e := &exchange{method: r.Method, path: r.URL.RequestURI(), header: r.Header.Clone(), asked: asked}
	tp.mu.Lock()
	tp.open++
	tp.exchanges = append(tp.exchanges, e)
	tp.mu.Unlock()
	defer func() {
		if e.path == cardPath && e.status == http.StatusOK {
			tp.cards.Add(1)
		}
		tp.mu.Lock()
		defer tp.mu.Unlock()
		tp.open--
		tp.idle.Broadcast()
	}()
	proxy.ServeHTTP(&recorder{ResponseWriter: w, to: e}, r)
}

// A recorder keeps what is written to a client.
type recorder struct {
	http.ResponseWriter
	to *exchange
}

// WriteHeader keeps the status and the kind of the answer.
func (r *recorder) WriteHeader(status int) {
	r.to.status, r.to.kind = status, r.Header().Get("Content-Type")
	r.ResponseWriter.WriteHeader(status)
}

// Write keeps the bytes.
func (r *recorder) Write(p []byte) (int, error) {
	r.to.answered.Write(p)
	return r.ResponseWriter.Write(p)
}

// Unwrap lets streams be flushed.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// take waits until nothing is under way, and takes what was recorded.
func (tp *tape) take() []*exchange {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	for tp.open > 0 {
		tp.idle.Wait()
	}
	taken := tp.exchanges
	tp.exchanges = nil
	return taken
}

// write writes an exchange as a transcript shows it. Messages do not change: one that
// seen has, by its id, is written in full no more, unless it is another than then.
func (e *exchange) write(t *testing.T, w io.Writer, seen map[string]string) {
	t.Helper()
	readable := func(raw []byte) string { return layOut(t, repeated(t, decodeAny(t, raw), seen), "") }
	_, _ = fmt.Fprintf(w, "> %s %s\n", e.method, e.path) // a builder takes everything
	for _, name := range slices.Sorted(maps.Keys(e.header)) {
		if strings.Contains(name, "A2a-") {
			_, _ = fmt.Fprintf(w, "> %s: %s\n", name, strings.Join(e.header[name], ", "))
		}
	}
	if len(e.asked) > 0 {
		_, _ = fmt.Fprintf(w, "%s\n", readable(e.asked))
	}
	_, _ = fmt.Fprintf(w, "< %d %s\n", e.status, e.kind)
	switch {
	case strings.HasPrefix(e.kind, "text/event-stream"):
		for line := range strings.Lines(e.answered.String()) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				_, _ = fmt.Fprintf(w, "%s\n", readable([]byte(data)))
			}
		}
	default:
		_, _ = fmt.Fprintf(w, "%s\n", readable(e.answered.Bytes()))
	}
}

// decodeAny reads JSON, whatever it is.
func decodeAny(t *testing.T, raw []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v: %q", err, raw)
	}
	return v
}

// repeated returns a value in which messages that were seen stand for themselves by
// their id.
func repeated(t *testing.T, v any, seen map[string]string) any {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = repeated(t, v[i], seen)
		}
	case map[string]any:
		if id, ok := v["messageId"].(string); ok {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] == string(raw) {
				return map[string]any{"messageId": id, "...": "as above"}
			}
			seen[id] = string(raw)
		}
		for key := range v {
			v[key] = repeated(t, v[key], seen)
		}
	}
	return v
}

// layOut returns JSON for readers: sorted, and on one line what fits on it.
func layOut(t *testing.T, v any, indent string) string {
	t.Helper()
	var short bytes.Buffer
	e := json.NewEncoder(&short)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(short.String(), "\n")
	const width = 160
	if len(indent)+len(line) <= width {
		return line
	}
	deeper := indent + "  "
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, deeper+fmt.Sprintf("%q: ", key)+layOut(t, v[key], deeper))
		}
		return "{\n" + strings.Join(parts, ",\n") + "\n" + indent + "}"
	case []any:
		for _, element := range v {
			parts = append(parts, deeper+layOut(t, element, deeper))
		}
		return "[\n" + strings.Join(parts, ",\n") + "\n" + indent + "]"
	default:
		return line
	}
}
