package a2a_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval/dialect"
)

// fuzzPatience is how long a request of a fuzz test may wait: a stream of a parked
// task, which a body may well ask for, ends only when its reader leaves.
const fuzzPatience = 100 * time.Millisecond

// fuzzAnswer sends a request through the whole server. left: the reader had to leave.
func fuzzAnswer(t *testing.T, s *wireServer, r *http.Request) (w *httptest.ResponseRecorder, left bool) {
	t.Helper()
	return fuzzAnswerWithin(t, fuzzPatience, s, r)
}

// fuzzAnswerWithin is fuzzAnswer of a reader with more patience.
func fuzzAnswerWithin(t *testing.T, patience time.Duration, s *wireServer, r *http.Request) (w *httptest.ResponseRecorder, left bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.Host = "127.0.0.1"
	w = httptest.NewRecorder()
	s.handler.ServeHTTP(w, r.WithContext(ctx))
	return w, ctx.Err() != nil
}

// fuzzBodies are the JSON values of an answer: one, or those of the frames of a stream.
func fuzzBodies(t *testing.T, w *httptest.ResponseRecorder) [][]byte {
	t.Helper()
	bodies := [][]byte{w.Body.Bytes()}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		bodies = nil
		lines := bufio.NewScanner(w.Body)
		lines.Buffer(nil, 10<<20)
		for lines.Scan() {
			if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
				bodies = append(bodies, bytes.Clone(data))
			}
		}
	}
	for _, body := range bodies {
		if !json.Valid(body) {
			t.Fatalf("the answer %d is not JSON: %.500q", w.Code, body)
		}
	}
	return bodies
}

// Whatever a body is, a request of JSON-RPC is answered with 200, well-formed, with
// its own id, and never with an internal error.
func FuzzJSONRPC(f *testing.F) {
	s := startWireServer(f, zerolog.Nop())
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/echo x"}]}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"SendStreamingMessage","params":{"message":{"message_id":"m","role":"ROLE_USER","parts":[{"data":{"tool":"stream","args":{"n":2}}}]}}}`,
		`{"jsonrpc":"2.0","id":null,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","taskId":"019b7c00-0000-7000-8000-000000000001","parts":[{"data":{"type":"approval_response","decisions":[{"id":"c1.1","decision":"approve"}]}}]}}}`,
		`{"jsonrpc":"2.0","id":1e3,"method":"SendMessage","params":{"message":{"messageId":"p","role":"ROLE_USER","parts":[{"text":"/transfer amount=1 to=bob"}]},"configuration":{"returnImmediately":true,"historyLength":0}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ListTasks","params":{"pageSize":3,"status":"TASK_STATE_COMPLETED","statusTimestampAfter":"2026-01-02T03:04:05Z","includeArtifacts":true}}`,
		`{"jsonrpc":"2.0","id":3,"method":"GetTask","params":{"id":"019b7c00-0000-7000-8000-000000000001","historyLength":1}}`,
		`{"jsonrpc":"2.0","id":4,"method":"CancelTask","params":{"id":"019b7c00-0000-7000-8000-000000000002"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"SubscribeToTask","params":{"id":"x"}}`,
		`[{"jsonrpc":"2.0"}]`, `{"jsonrpc":"2.0","id":{}}`, `{"ID":1,"id":2,"method":5}`, "null", "", "{", "\xff", `{"id":"\ud800"}`, strings.Repeat("[", 20_000),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w, left := fuzzAnswer(t, s, newRequest(t, http.MethodPost, "/", string(body), "Content-Type", "application/json"))
		if w.Code != http.StatusOK && w.Code != http.StatusRequestEntityTooLarge {
			t.Fatalf("status = %d: %s", w.Code, w.Body)
		}
		if w.Code == http.StatusRequestEntityTooLarge || left {
			return
		}
		for _, raw := range fuzzBodies(t, w) {
			checkRPCAnswer(t, body, raw)
		}
	})
}

func checkRPCAnswer(t *testing.T, request, raw []byte) {
	t.Helper()
	var answer struct {
		JSONRPC string
		ID      json.RawMessage
		Result  json.RawMessage
		Error   *struct {
			Code int
			Data []struct {
				Type string `json:"@type"`
			}
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("answer = %.500q: %v", raw, err)
	}
	if answer.JSONRPC != "2.0" || (answer.Result == nil) == (answer.Error == nil) {
		t.Fatalf("answer = %.500q, want jsonrpc 2.0 with either a result or an error", raw)
	}
	if e := answer.Error; e != nil && (e.Code == -32603 || e.Code > -32000 || len(e.Data) == 0 || e.Data[0].Type != "type.googleapis.com/google.rpc.ErrorInfo") {
		t.Fatalf("answer = %.500q, want an error of the protocol with an ErrorInfo", raw)
	}
	// What is no request, or wrong before its id, is answered with the id that was read so far, or none.
	refused := answer.Error != nil && slices.Contains([]int{-32700, -32600, -32602}, answer.Error.Code)
	if want, ok := requestID(request); ok && want != string(answer.ID) && (!refused || string(answer.ID) != "null" && !bytes.Contains(request, answer.ID)) {
		t.Fatalf("answer = %.500q to %.500q, want the id %s", raw, request, want)
	}
}

// requestID returns the id of a request to the letter, when it is clear which it is.
func requestID(request []byte) (id string, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(request, &members) != nil {
		return "", false
	}
	for name := range members {
		if name != "id" && strings.EqualFold(name, "id") {
			return "", false
		}
	}
	if members["id"] == nil {
		return "null", true
	}
	return string(members["id"]), true
}

// Whatever path, query and body are, HTTP+JSON answers below 500, in JSON, and an
// error says the same status as the answer.
func FuzzREST(f *testing.F) {
	s := startWireServer(f, zerolog.Nop())
	const id = "019b7c00-0000-7000-8000-000000000001"
	message := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/echo x"}]}}`
	f.Add(true, "/message:send", message)
	f.Add(true, "/message:stream", message)
	f.Add(true, "/a2a/message:send", `{"message":{"message_id":"m","role":1,"parts":[{"raw":"AA==","mediaType":"a/b"}]},"configuration":{}}`)
	f.Add(true, "/message:send", `{"message":{"messageId":"p","role":"ROLE_USER","parts":[{"text":"/transfer amount=1 to=bob"}]}}`)
	f.Add(false, "/tasks?pageSize=2&status=TASK_STATE_WORKING&context_id=x&includeArtifacts=true&statusTimestampAfter=2026-01-02T03:04:05Z", "")
	f.Add(false, "/tasks?pageToken=AAAA&pageSize=%zz&historyLength=-1;a=b", "")
	f.Add(false, "/tasks/"+id+"?historyLength=0", "")
	f.Add(false, "/tasks/"+id+"%3Asubscribe", "")
	f.Add(true, "/tasks/"+id+":cancel", `{}`)
	f.Add(true, "/tasks/%2e%2e/:x:y?A2A-Version=1.0", "\xff")
	f.Add(false, "/tasks/x/pushNotificationConfigs/y", "")
	f.Add(false, "//", "")
	f.Fuzz(func(t *testing.T, post bool, target, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			t.Skip("no target of a request")
		}
		r := newRequest(t, http.MethodGet, "/", "")
		if post {
			r = newRequest(t, http.MethodPost, "/", body, "Content-Type", "application/json")
		}
		r.URL, r.RequestURI = u, target
		w, left := fuzzAnswer(t, s, r)
		if left {
			return
		}
		if w.Code >= http.StatusInternalServerError {
			t.Fatalf("%s = %d: %.500s", target, w.Code, w.Body)
		}
		if w.Code == http.StatusNoContent || w.Code == http.StatusOK && w.Body.Len() == 0 {
			return
		}
		raw := fuzzBodies(t, w)
		if w.Code == http.StatusOK {
			return
		}
		var answer struct {
			Error struct {
				Code    int
				Status  string
				Message string
				Details []any
			}
		}
		if err := json.Unmarshal(raw[0], &answer); err != nil || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%s = %d %q %.500s, %v", target, w.Code, w.Header(), raw[0], err)
		}
		if e := answer.Error; e.Code != w.Code || e.Status == "" || e.Message == "" || len(e.Details) == 0 {
			t.Fatalf("%s = %d %.500s, want an error that says so, with details", target, w.Code, raw[0])
		}
	})
}

// Whatever Last-Event-ID is, a stream of an ended task is the end of its log, or
// refused: nothing is lost from its middle and nothing comes twice.
func FuzzLastEventID(f *testing.F) {
	s := startWireServer(f, zerolog.Nop())
	w := s.ask(f, http.MethodPost, "/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/stream n=5"}]}}`)
	all := eventIDs(w.Body.String())
	if len(all) != 9 {
		f.Fatalf("ids of the stream = %q, want 9", all)
	}
	for _, id := range append(slices.Clone(all), "", "-", "0-8001", "6-8002", "6-", "+6-8001", "06-8001", "18446744073709551616-8001", "6-8001-8001", "٦-8001") {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		r := newRequest(t, http.MethodGet, "/tasks/019b7c00-0000-7000-8000-000000000001:subscribe", "")
		r.Header["Last-Event-Id"] = []string{id}
		w, left := fuzzAnswerWithin(t, time.Minute, s, r) // it ends by itself
		if w.Code == http.StatusBadRequest {
			return
		}
		ids := eventIDs(w.Body.String())
		if w.Code != http.StatusOK || left || len(ids) > len(all) || !slices.Equal(ids, all[len(all)-len(ids):]) {
			t.Fatalf("Last-Event-ID %q = %d with %q, want an end of %q", id, w.Code, ids, all)
		}
		if at := slices.Index(all, id); at >= 0 && len(ids) != len(all)-at-1 {
			t.Fatalf("Last-Event-ID %q gives %q, want what is after it in %q", id, ids, all)
		}
	})
}

func eventIDs(body string) []string {
	var ids []string
	for line := range strings.SplitSeq(body, "\n") {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// Whatever A2A-Version, A2A-Extensions, Host and Origin are: only what is ours is
// served, and only extensions that were asked for and are spoken are named active.
func FuzzHeaders(f *testing.F) {
	s := startWireServer(f, zerolog.Nop())
	f.Add("1.0", dialect.URI, "127.0.0.1:8080", "")
	f.Add("1.0.7", dialect.URI+", "+dialect.KagentURI+",x,"+dialect.URI, "127.0.0.1", "https://inbox.example")
	f.Add("0.3", ",", "[::1]:80", "null")
	f.Add("", "", "127.0.0.1.attacker.example", "https://inbox.example.attacker.example")
	f.Add(" 1.0 ", "\xff", "127.0.0.1:1:2", "https://inbox.example:443")
	f.Add("10", "urn:a2a-server:extension:tool-approval:v1x", "", "https://INBOX.example")
	known := dialect.Extensions()
	f.Fuzz(func(t *testing.T, version, extensions, host, origin string) {
		r := newRequest(t, http.MethodGet, "/tasks", "")
		r.Host = host
		r.Header["A2a-Version"] = []string{version}
		r.Header["A2a-Extensions"] = []string{extensions}
		if origin != "" {
			r.Header["Origin"] = []string{origin}
		}
		w := record(s.handler, r)
		ourHost := host == "127.0.0.1" || strings.HasPrefix(host, "127.0.0.1:")
		asked := strings.TrimSpace(version)
		switch {
		case origin != "" && origin != "https://inbox.example", !ourHost:
			if w.Code != http.StatusForbidden {
				t.Fatalf("Host %q, Origin %q = %d, want 403", host, origin, w.Code)
			}
		case asked != "" && asked != "1.0" && !strings.HasPrefix(asked, "1.0."):
			if w.Code != http.StatusBadRequest {
				t.Fatalf("A2A-Version %q = %d, want 400", version, w.Code)
			}
		case w.Code != http.StatusOK && w.Code != http.StatusForbidden: // a Host may be ours and have a port that is none
			t.Fatalf("A2A-Version %q, Host %q = %d, want 200", version, host, w.Code)
		}
		fuzzBodies(t, w)
		var active []string
		if said := w.Header().Get("A2A-Extensions"); said != "" {
			active = strings.Split(said, ", ")
		}
		for i, uri := range active {
			spoken := slices.ContainsFunc(known, func(e sdk.AgentExtension) bool { return e.URI == uri })
			if !spoken || !strings.Contains(extensions, uri) || slices.Contains(active[:i], uri) {
				t.Fatalf("A2A-Extensions %q is answered with %q", extensions, active)
			}
		}
	})
}
