package a2a_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/internal/httpd"
)

// A path is decoded once: what still looks escaped afterwards is part of a name.
func TestPathIsDecodedOnce(t *testing.T) {
	t.Parallel()
	url := serve(t)
	id := parked(t, url)
	for _, twice := range []string{"%253Acancel", "%25%33%41cancel"} {
		if status, body := post(t, url+"/tasks/"+id+twice, ""); status != http.StatusMethodNotAllowed {
			t.Errorf("POST /tasks/ID%s = %d %s, want 405, as for any name", twice, status, body)
		}
	}
	if got := get(t, url+"/tasks/"+id); !strings.Contains(got.body, "TASK_STATE_INPUT_REQUIRED") {
		t.Fatalf("the task is not as it was: %s", got.body)
	}
	if status, body := post(t, url+"/tasks/"+id+"%3Acancel", ""); status != http.StatusOK || !strings.Contains(body, "TASK_STATE_CANCELED") {
		t.Errorf("POST /tasks/ID%%3Acancel = %d %s, want it canceled", status, body)
	}
	if status, body := post(t, url+"/message%3Asend", "{}"); status != http.StatusBadRequest || !strings.Contains(body, `"field":"message"`) {
		t.Errorf("POST /message%%3Asend = %d %s, want it to be served", status, body)
	}
}

// A slash that is escaped separates nothing: a proxy that has rules for paths would not see
// it. What a path with one means is not guessed.
func TestEscapedSlash(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.Card.URL = "https://agent.example/a%2Fb/c" }).URL
	id := parked(t, url)
	const list, oldGet = `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"ID"}}`
	send := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	oldSend := `{"message":{"messageId":"o","kind":"message","role":"user","parts":[{"kind":"text","text":"hi"}]}}`
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/tasks/ID", "", 200}, {"GET", "/tasks%2FID", "", 404}, {"GET", "/tasks%2fID", "", 404}, {"GET", "/%2Ftasks/ID", "", 404}, {"GET", "/tasks/ID%2F", "", 404}, {"GET", "%2Ftasks/ID", "", 404},
		{"GET", "/v1/tasks/ID", "", 200}, {"GET", "/v1%2Ftasks/ID", "", 404}, {"GET", "/v1/tasks%2FID", "", 404}, {"GET", "/v1%2ftasks%2fID", "", 404},
		{"POST", "/message:send", send, 200}, {"POST", "/%2Fmessage:send", send, 404}, {"POST", "%2Fmessage:send", send, 404}, {"POST", "/tasks%2FID:cancel", "", 404}, {"POST", "/tasks/ID%3Acancel%2F", "", 404},
		{"POST", "/v1/message:send", oldSend, 200}, {"POST", "/v1%2Fmessage:send", oldSend, 404}, {"POST", "/v1/tasks%2FID:cancel", "", 404},
		{"GET", "/tasks/ID/pushNotificationConfigs%2Fc", "", 404}, {"DELETE", "/tasks/ID%2FpushNotificationConfigs/c", "", 404},
		{"POST", "/", list, 200}, {"POST", "/%2F", list, 404}, {"POST", "%2F", list, 404}, {"POST", "/%2F", oldGet, 404}, {"POST", "/", oldGet, 200},
		{"GET", "/.well-known/agent-card.json", "", 200}, {"GET", "/.well-known%2Fagent-card.json", "", 404}, {"GET", "%2Fopenapi.json", "", 404},
		{"GET", "/tasks/ID%252F", "", 404}, {"GET", "/%74asks/ID", "", 200}, {"GET", "/tasks?contextId=a%2Fb", "", 200},
	} {
		for _, base := range []string{"", "/a%2Fb/c", "/a%2fb/c"} {
			if base == "" && c.path[0] == '%' {
				continue // that is part of the host
			}
			r := newRequest(t, c.method, url+base+strings.ReplaceAll(c.path, "ID", id), strings.ReplaceAll(c.body, "ID", id))
			if got := do(t, r); got.status != c.want {
				t.Errorf("%s %s%s = %d %s, want %d", c.method, base, c.path, got.status, got.body, c.want)
			}
		}
	}
	if got := get(t, url+"/a/b%2Fc/tasks"); got.status != http.StatusNotFound {
		t.Errorf("GET /a/b%%2Fc/tasks = %d, want 404: the base URL is another one", got.status)
	}
	if got := get(t, url+"/tasks/"+id); !strings.Contains(got.body, "TASK_STATE_INPUT_REQUIRED") {
		t.Errorf("the task is not as it was: %s", got.body)
	}
}

// The path of the base URL is a path, whatever it has in it.
func TestBasePathIsNoPattern(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.Card.URL = "https://agent.example/a:b*c/d%20e" }).URL
	list := `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`
	for path, want := range map[string]int{
		"/": 200, "/a:b*c/d%20e": 200, "/a:b*c/d%20e/": 200, "/a%3Ab%2Ac/d%20e": 200,
		"/aXb*c/d%20e": 404, "/a:bXXc/d%20e": 404, "/a:b*c/dXe": 404, "/a:b*c/d%20eX": 404, "/anything": 404,
	} {
		if status, body := post(t, url+path, list); status != want {
			t.Errorf("POST %s = %d %s, want %d", path, status, body, want)
		}
	}
	for path, want := range map[string]int{"/a:b*c/d%20e/tasks": 200, "/tasks": 200, "/a:b*c/d%20e/.well-known/agent-card.json": 200, "/axb/c/d%20e/tasks": 404} {
		if got := get(t, url+path); got.status != want {
			t.Errorf("GET %s = %d, want %d", path, got.status, want)
		}
	}
}

// A filter that cannot be read is not dropped.
func TestQueryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, query := range []string{"status=TASK_STATE_WORKING;a=b", "a;b", "%zz", "status=%", "a=b&c=%f"} {
		if got := get(t, url+"/tasks?"+query); got.status != http.StatusBadRequest || !strings.Contains(got.body, "INVALID_REQUEST") {
			t.Errorf("GET /tasks?%s = %d %s, want 400", query, got.status, got.body)
		}
		if status, _ := post(t, url+"/?"+query, "{}"); status != http.StatusBadRequest {
			t.Errorf("POST /?%s = %d, want 400", query, status)
		}
	}
	if got := get(t, url+"/tasks?a=b%3Bc&&d"); got.status != http.StatusOK {
		t.Errorf("a query that can be read = %d %s", got.status, got.body)
	}
}

// What pages of other sites have a browser fetch is refused also when it has no Origin,
// but for what anybody may link to.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) {
		c.Card.URL, c.Guard = "https://agent.example/a2a", httpd.Guard{Origins: []string{"https://inbox.example"}}
	}).URL
	for _, tc := range []struct {
		method, path, site, origin string
		status                     int
	}{
		{"GET", "/tasks", "cross-site", "", 403},
		{"GET", "/tasks?includeArtifacts=true", "cross-site", "", 403},
		{"GET", "/a2a/tasks", "cross-site", "", 403},
		{"POST", "/", "cross-site", "", 403},
		{"POST", "/", "same-site", "", 403},
		{"GET", "/nothing", "cross-site", "", 403},
		{"GET", "/tasks", "cross-site", "https://inbox.example", 200},
		{"GET", "/tasks", "cross-site", "https://attacker.example", 403},
		{"GET", "/tasks", "same-origin", "", 200},
		{"GET", "/tasks", "same-site", "", 200},
		{"GET", "/tasks", "none", "", 200},
		{"GET", "/.well-known/agent-card.json", "cross-site", "", 200},
		{"HEAD", "/.well-known/agent-card.json", "cross-site", "", 200},
		{"GET", "/a2a/.well-known/agent-card.json", "cross-site", "", 200},
		{"GET", "/", "cross-site", "", 200},
		{"GET", "/a2a", "cross-site", "", 200},
	} {
		r := newRequest(t, tc.method, url+tc.path, "", "Sec-Fetch-Site", tc.site)
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		if got := do(t, r); got.status != tc.status {
			t.Errorf("%s %s from %s %s = %d, want %d", tc.method, tc.path, tc.site, tc.origin, got.status, tc.status)
		}
	}
}

// A body is read as it is, as UTF-8, and its type and coding are said once.
func TestBodyInAnotherCoding(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, tc := range []struct {
		contentType, coding []string
		status              int
	}{
		{[]string{"application/json"}, []string{"gzip"}, 415},
		{[]string{"application/json"}, []string{"identity, br"}, 415},
		{[]string{"application/json"}, []string{"identity", "gzip"}, 415},
		{[]string{"application/json"}, []string{"Identity"}, 200},
		{[]string{"application/json; charset=UTF-8"}, nil, 200},
		{[]string{`application/a2a+json; charset="utf-8"`}, nil, 200},
		{[]string{"application/json; charset=iso-8859-1"}, nil, 415},
		{[]string{"application/json; charset="}, nil, 415},
		{[]string{"application/json", "application/json; charset=utf-16"}, nil, 415},
	} {
		r := newRequest(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`)
		r.Header["Content-Type"], r.Header["Content-Encoding"] = tc.contentType, tc.coding
		if got := do(t, r); got.status != tc.status {
			t.Errorf("Content-Type %q, Content-Encoding %q = %d %s, want %d", tc.contentType, tc.coding, got.status, got.body, tc.status)
		}
	}
}

// raw sends a request and returns its connection, which can be read until the server
// closes it or a minute has gone.
func raw(t *testing.T, url, request string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

// next reads the next answer of a connection to its end.
func next(t *testing.T, r *bufio.Reader) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Errorf("the answer ends with %v", err)
	}
	_ = resp.Body.Close()
	return resp
}

// A request whose body never comes is answered when nobody reads that body, and then
// its connection ends.
func TestBodyThatNeverComes(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) {
		c.Guard = httpd.Guard{Hosts: []string{"x"}, Origins: []string{"https://inbox.example"}}
	}).URL
	type sent struct {
		name   string
		status int
		conn   net.Conn
	}
	var all []sent
	for name, tc := range map[string]struct {
		head   string
		status int
	}{
		"no path":         {"POST /nothing HTTP/1.1\r\nHost: x", 404},
		"no JSON":         {"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain", 415},
		"foreign name":    {"POST / HTTP/1.1\r\nHost: attacker", 403},
		"foreign origin":  {"POST / HTTP/1.1\r\nHost: x\r\nOrigin: https://attacker.example", 403},
		"other method":    {"POST /tasks HTTP/1.1\r\nHost: x", 405},
		"no query":        {"POST /?a;b HTTP/1.1\r\nHost: x", 400},
		"read":            {"GET /tasks HTTP/1.1\r\nHost: x", 200},
		"no task":         {"GET /tasks/x:subscribe HTTP/1.1\r\nHost: x", 404},
		"card":            {"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: x", 200},
		"before":          {"OPTIONS /tasks HTTP/1.1\r\nHost: x\r\nOrigin: https://inbox.example\r\nAccess-Control-Request-Method: GET", 204},
		"push":            {"POST /tasks/x/pushNotificationConfigs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json", 400},
		"another version": {"POST /message:send HTTP/1.1\r\nHost: x\r\nA2A-Version: 9.9\r\nContent-Type: application/json", 400},
	} {
		for _, body := range []string{"Content-Length: 100", "Content-Length: 10000000", "Transfer-Encoding: chunked"} {
			all = append(all, sent{name + ", " + body, tc.status, raw(t, url, tc.head+"\r\n"+body+"\r\n\r\n")})
		}
	}
	for _, s := range all {
		r := bufio.NewReader(s.conn)
		resp := next(t, r) //nolint:bodyclose // next closes it
		if resp.StatusCode != s.status || !resp.Close {
			t.Errorf("%s: status %d, closed %t, want %d, and the connection closed", s.name, resp.StatusCode, resp.Close, s.status)
		}
		if _, err := r.ReadByte(); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays", s.name)
		}
	}
}

// A stream begins although the body of its request has not come, and gives its place back
// when the client leaves, whether the body has come by then or not.
func TestStreamDoesNotWaitForABody(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ head, late string }{
		"never":         {"Content-Length: 100", ""},
		"in part":       {"Content-Length: 100", "some"},
		"late":          {"Content-Length: 4", "late"},
		"never, chunks": {"Transfer-Encoding: chunked", ""},
		"late, chunks":  {"Transfer-Encoding: chunked", "4\r\nlate\r\n0\r\n\r\n"},
		"not asked for": {"Content-Length: 100\r\nExpect: 100-continue", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(c *a2a.Config) { c.Streams, c.Beat = 1, time.Hour })
			task := "/tasks/" + parked(t, s.URL)
			path := task + ":subscribe"
			request := "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + tc.head + "\r\n\r\n"
			conn := raw(t, s.URL, request)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }() // after conn: the body would be read to its end
			if first, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(first, "id: ") {
				t.Errorf("the stream begins with %q, %v", first, err)
			}
			if _, err := io.WriteString(conn, tc.late); err != nil {
				t.Error(err)
			}
			if status, _ := post(t, s.URL+path, ""); status != http.StatusServiceUnavailable {
				t.Errorf("a second stream: %d, want 503: the first one continues", status)
			}
			_ = conn.Close()
			soon(t, "the place is free", func() bool {
				again := open(t, s.URL+path)
				defer again.Body.Close()
				return again.StatusCode == http.StatusOK
			})
			soon(t, "another one begins, and ends with its task", func() bool {
				conn := raw(t, s.URL, request)
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _, _ = conn.Close(), resp.Body.Close() }()
				if resp.StatusCode != http.StatusOK {
					return false
				}
				post(t, s.URL+task+":cancel", "{}")
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Errorf("the stream of a task that has ended: %v", err)
				}
				return true
			})
		})
	}
}

// A connection whose requests are read continues, also after an error.
func TestConnectionIsKept(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.Card.URL = "https://agent.example/a2a" }).URL
	conn := raw(t, url, "")
	r := bufio.NewReader(conn)
	for _, request := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"POST /a2a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"GET /tasks HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if resp := next(t, r); resp.Close { //nolint:bodyclose // next closes it
			t.Errorf("%q: the connection is closed", request)
		}
	}
}

// protocols runs a test over HTTP/1 and HTTP/2, with a server that gives a request a
// moment to come.
func protocols(t *testing.T, test func(t *testing.T, url string, client *http.Client)) {
	t.Helper()
	for _, name := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := start(t, func(c *a2a.Config) { c.Beat = 200 * time.Millisecond }, func(s *http.Server) {
				s.ReadTimeout = 2 * time.Second
				s.Protocols = &http.Protocols{}
				s.Protocols.SetHTTP1(true)
				s.Protocols.SetUnencryptedHTTP2(true)
			})
			transport := &http.Transport{Protocols: &http.Protocols{}}
			transport.Protocols.SetHTTP1(name == "HTTP/1.1")
			transport.Protocols.SetUnencryptedHTTP2(name == "HTTP/2.0")
			t.Cleanup(transport.CloseIdleConnections)
			test(t, srv.URL, &http.Client{Transport: transport, Timeout: time.Minute})
		})
	}
}

// A body that stops coming ends its request.
func TestBodyTimeout(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, url string, client *http.Client) {
		body, more := io.Pipe()
		defer more.Close()
		go func() { _, _ = more.Write([]byte("{")) }()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("status %d, want 408", resp.StatusCode)
		}
	})
}

// The time-out of a request is over with its body: a stream lasts.
func TestStreamOutlivesTheTimeoutOfItsRequest(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, url string, client *http.Client) {
		id := parked(t, url)
		for _, r := range []struct{ method, path, body string }{
			{http.MethodGet, "/tasks/" + id + ":subscribe", ""},
			{http.MethodPost, "/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":%q}}`, id)},
		} {
			t.Run(r.method, func(t *testing.T) {
				t.Parallel()
				resp, err := client.Do(newRequest(t, r.method, url+r.path, r.body))
				if err != nil {
					t.Fatal(err)
				}
				beats := 0
				for lines := bufio.NewScanner(resp.Body); beats < 15 && lines.Scan(); {
					if lines.Text() == ": still here" {
						beats++
					}
				}
				_ = resp.Body.Close()
				if beats < 15 {
					t.Errorf("%s %s: the stream ended after %d heartbeats", r.method, r.path, beats)
				}
			})
		}
	})
}

// What a handler around the server adds to the headers of an answer is in that answer only.
func TestAddedHeaders(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop())
	answer := func(add string) http.Header {
		h := s.ask(t, http.MethodPost, "/nothing", "{}").Header()
		for _, name := range []string{"Cache-Control", "X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Connection"} {
			if add != "" {
				h.Add(name, add)
			}
		}
		return h
	}
	plain, first, second, after := answer(""), answer("first"), answer("second"), answer("")
	if diff := cmp.Diff(plain, after); diff != "" || len(plain["Connection"]) != 1 {
		t.Errorf("the headers of an answer (-before +after):\n%s", diff)
	}
	for name, added := range first {
		if values := second[name]; len(added) == 2 && (added[1] != "first" || values[1] != "second" || added[0] != plain[name][0]) {
			t.Errorf("%s became %q and %q", name, added, values)
		}
	}
}
