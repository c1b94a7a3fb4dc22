package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"a2a-server/auth"
)

// raw sends bytes on a connection of its own, and returns the first answer, with its body.
// The answer has to come without more being sent.
func (w *attacked) raw(t *testing.T, request string) answered {
	t.Helper()
	before := w.store.Calls.Load()
	l := w.dial(t)
	defer l.Close()
	go func() { _, _ = io.WriteString(l, request) }() // an early answer may end the connection
	method, _, _ := strings.Cut(request, " ")
	a, _ := l.answer(method)
	a.Calls = w.store.Calls.Load() - before
	return a
}

// Who is refused is so before the body is read: it is never sent here.
func TestRefusedBeforeTheBody(t *testing.T) {
	t.Parallel()
	w := startAttacked(t)
	attacks := attacksOn(w)
	for _, b := range attackBindings() {
		for _, op := range attackOperations() {
			method, path, body := b.put(op, w.tasks["acme parked"])
			if body == "" {
				continue
			}
			for _, a := range attacks {
				want := a.want
				if want == 0 && (b.name == "HTTP+JSON 1.0" || method == overGRPC) && a.by.May(op.action) != nil {
					want = http.StatusForbidden // JSON-RPC says in the body what it wants
				}
				if want == 0 {
					continue
				}
				if method == overGRPC {
					if got := w.do(t, a.header, method, path, unsent); got.Status != want || got.Calls != 0 || strings.Contains(got.Body, victims) {
						t.Errorf("%s, %s %s: %+v, want %d", b.name, a.name, op.name, got, want)
					}
					continue
				}
				var head bytes.Buffer
				fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n", method, path)
				if err := a.header.Write(&head); err != nil {
					t.Fatal(err)
				}
				if got := w.raw(t, head.String()+"\r\n"); got.Status != want || got.Calls != 0 || strings.Contains(got.Body, victims) {
					t.Errorf("%s, %s %s: %+v, want %d", b.name, a.name, op.name, got, want)
				}
			}
		}
	}
	w.unharmed(t, attackBindings()[0])
}

// What is wrong with a header is never made good, a credential is nowhere but where it
// belongs, and nothing that is sent becomes a header of the answer.
func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	w := startAttacked(t)
	key, valid := w.keys["victim"], token("k1", w.issuer.claims("acme", "victim", auth.RoleRequester))
	const none, bad = http.StatusUnauthorized, http.StatusBadRequest
	long := strings.Repeat("a", 200<<10)
	odd := func(header map[string]any) string {
		return "Authorization: Bearer " + token("k1", w.issuer.claims("acme", "victim", auth.RoleRequester), header)
	}
	for _, tc := range []struct {
		name, header string
		want         []int
	}{
		{"a valid key", "X-API-Key: " + key, []int{200}},
		{"a valid token", "Authorization: Bearer " + valid, []int{200}},
		{"a scheme in small letters", "authorization: bearer " + valid, []int{200}},
		{"CR in a value", "X-API-Key: " + key + "\rX-Injected: 1", []int{bad, none}},
		{"CR alone ends a line", "X-Other: a\rX-API-Key: " + key, []int{bad, none}},
		{"NUL", "X-API-Key: " + key + "\x00", []int{bad, none}},
		{"DEL", "X-API-Key: " + key + "\x7f", []int{bad, none}},
		{"not ASCII", "X-API-Key: " + key + "é", []int{bad, none}},
		{"a folded line", "X-API-Key:\r\n " + key + "x", []int{bad, none}},
		{"a folded credential", "X-Other: a\r\n X-API-Key: " + key, []int{bad, none}},
		{"a blank before the colon", "X-API-Key : " + key, []int{bad, none}},
		{"an underline", "X_API_Key: " + key, []int{none}},
		{"no name", ": " + key, []int{bad, none}},
		{"half of the line", "X-API-Key", []int{bad, none}},
		{"empty", "X-API-Key:", []int{none}},
		{"a prefix of the key", "X-API-Key: " + key[:len(key)-1], []int{none}},
		{"more than the key", "X-API-Key: " + key + "A", []int{none}},
		{"two in one header", "X-API-Key: " + key + ", " + key, []int{none}},
		{"the key twice", "X-API-Key: " + key + "\r\nX-API-Key: " + key, []int{none}},
		{"an empty one and the key", "X-API-Key:\r\nX-API-Key: " + key, []int{none}},
		{"the token twice", "Authorization: Bearer " + valid + "\r\nAuthorization: Bearer " + valid, []int{none}},
		{"Basic and a token", "Authorization: Basic YTpi\r\nAuthorization: Bearer " + valid, []int{none}},
		{"two tokens in one header", "Authorization: Bearer " + valid + ", Bearer " + valid, []int{none}},
		{"a key and a token", "Authorization: Bearer " + valid + "\r\nX-API-Key: " + key, []int{none}},
		{"no token", "Authorization: Bearer", []int{none}},
		{"no scheme", "Authorization: " + valid, []int{none}},
		{"another scheme", "Authorization: Basic " + valid, []int{none}},
		{"a tab after the scheme", "Authorization: Bearer\t" + valid, []int{none}},
		{"the key as a token", "Authorization: Bearer " + key, []int{none}},
		{"the token as a key", "X-API-Key: " + valid, []int{none}},
		{"in a cookie", "Cookie: X-API-Key=" + key + "; Authorization=" + valid, []int{none}},
		{"of a proxy", "X-Forwarded-User: victim\r\nX-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1", []int{none}},
		{"for a proxy", "Proxy-Authorization: Bearer " + valid, []int{none}},
		{"of a method", "X-HTTP-Method-Override: OPTIONS", []int{none}},
		{"a client certificate that a proxy would have seen", "X-Forwarded-Client-Cert: Subject=\"CN=victim\"\r\nX-SSL-Client-Verify: SUCCESS", []int{none}},
		{"long key", "X-API-Key: " + long, []int{431}},
		{"long token", "Authorization: Bearer " + valid + long, []int{431}},
		{"token over 16 KiB", "Authorization: Bearer " + valid + long[:20<<10], []int{none}},
		{"many headers", strings.Repeat("X-Other: a\r\n", 20000) + "X-API-Key: " + key, []int{431}},
		{"ends of lines in kid", odd(map[string]any{"kid": "a\r\nX-Injected: 1\r\n\r\n"}), []int{none}},
		{"ends of lines in typ", odd(map[string]any{"typ": "a\r\nX-Injected: 1"}), []int{none}},
		{"ends of lines in alg", odd(map[string]any{"alg": "RS256\r\nX-Injected: 1"}), []int{none}},
		{"quotes in kid", odd(map[string]any{"kid": `", Bearer realm="evil`}), []int{none}},
		{"a URL for the key", odd(map[string]any{"jku": w.issuer.URL + "/keys", "kid": "k2"}), []int{none}},
		{"its own key", odd(map[string]any{"jwk": map[string]any{"kty": "oct", "k": "AA"}, "kid": "k2"}), []int{none}},
		{"something critical", odd(map[string]any{"crit": []string{"x"}, "x": 1}), []int{none}},
	} {
		a := w.raw(t, "GET /tasks HTTP/1.1\r\nHost: 127.0.0.1\r\n"+tc.header+"\r\n\r\n")
		if !slices.Contains(tc.want, a.Status) {
			t.Errorf("%s: %+v, want %v", tc.name, a, tc.want)
		}
		if a.Status != http.StatusOK && (a.Calls != 0 || strings.Contains(a.Body, victims)) {
			t.Errorf("%s is refused and reads: %+v", tc.name, a)
		}
		headers := fmt.Sprint(a.Header)
		if a.Header.Get("X-Injected") != "" || strings.Contains(headers, `realm="evil`) {
			t.Errorf("%s: headers %s", tc.name, headers)
		}
		for _, credential := range []string{key, valid} {
			if strings.Contains(a.Body+headers, credential) {
				t.Errorf("%s: the answer repeats the credential: %+v", tc.name, a)
			}
		}
	}
	for name, request := range map[string]string{
		"in the query":             "GET /tasks?access_token=" + valid + "&X-API-Key=" + key + "&api_key=" + key + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"in a trailer":             "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: X-API-Key\r\n\r\n0\r\nX-API-Key: " + key + "\r\n\r\n",
		"in the body":              "POST /?x=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 25\r\n\r\naccess_token=abcdefghijkl",
		"in the URL":               "GET http://victim:" + key + "@127.0.0.1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"hop by hop":               "GET /tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: X-API-Key\r\n\r\n",
		"in a path that is no one": "GET /tasks/../tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nReferer: http://victim:" + key + "@127.0.0.1\r\n\r\n",
	} {
		if a := w.raw(t, request); a.Status < 400 || a.Status >= 500 || strings.Contains(a.Body, victims) || strings.Contains(a.Body, key) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	w.unharmed(t, attackBindings()[0])
}

// A connection is nobody's: each request on it is its own credential's.
func TestConnectionHasNoCaller(t *testing.T) {
	t.Parallel()
	w := startAttacked(t)
	l := w.dial(t)
	for i, tc := range []struct {
		key  string
		want int
	}{{"victim", 200}, {"", 401}, {"mallory", 404}, {"revoked", 401}, {"victim", 200}, {"mallory", 404}} {
		path := "/tasks"
		if tc.want == http.StatusNotFound {
			path += "/" + w.tasks["acme ended"]
		}
		l.write(fmt.Sprintf("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\n\r\n", path, w.keys[tc.key]))
		if a, _ := l.answer(http.MethodGet); a.Status != tc.want {
			t.Errorf("request %d, of %q: %+v, want %d", i, tc.key, a, tc.want)
		}
	}
}

// In HTTP/2, requests of several callers share a connection at the same time.
func TestHTTP2ConnectionHasNoCaller(t *testing.T) {
	t.Parallel()
	w := startAttacked(t)
	w.useHTTP2(t)
	var wg sync.WaitGroup
	for range 10 {
		for _, tc := range []struct {
			who    string
			header http.Header
			want   int
		}{
			{"victim", w.victim(), http.StatusOK}, {"mallory", w.mallory(), http.StatusNotFound},
			{"revoked", w.keyed("revoked"), http.StatusUnauthorized}, {"nobody", nil, http.StatusUnauthorized},
		} {
			wg.Go(func() {
				resp, err := w.open(t.Context(), tc.header, http.MethodGet, "/tasks/"+w.tasks["acme ended"], "")
				if err != nil {
					t.Error(err)
					return
				}
				a, err := answerOf(resp)
				if err != nil || a.Status != tc.want || resp.ProtoMajor != 2 || strings.Contains(a.Body, victims) != (tc.want == http.StatusOK) {
					t.Errorf("%s: %s %+v %v, want %d", tc.who, resp.Proto, a, err, tc.want)
				}
			})
		}
	}
	wg.Wait()
}
