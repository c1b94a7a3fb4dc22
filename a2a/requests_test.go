package a2a_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// newRequest returns a request whose body, if there is one, is JSON. The headers are in pairs.
func newRequest(t testing.TB, method, url, body string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:1234"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// record has a handler answer a request, without a connection.
func record(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// ask has the server answer a request, without a connection.
func (s *wireServer) ask(t testing.TB, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return record(s.handler, newRequest(t, method, "http://127.0.0.1"+path, body, headers...))
}

// answer is a response, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func do(t *testing.T, r *http.Request) answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func get(t *testing.T, url string, headers ...string) answer {
	t.Helper()
	return do(t, newRequest(t, http.MethodGet, url, "", headers...))
}

// post sends a body and returns status and answer.
func post(t *testing.T, url, body string, headers ...string) (int, string) {
	t.Helper()
	got := do(t, newRequest(t, http.MethodPost, url, body, append([]string{"Content-Type", "application/json"}, headers...)...))
	return got.status, got.body
}

// open begins to read a stream.
func open(t *testing.T, url string, headers ...string) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(newRequest(t, http.MethodGet, url, "", headers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}
