package agenttool_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
)

// post sends a request of JSON-RPC to a server, and returns its result.
func post(t *testing.T, url, method, params string) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var got struct{ Result, Error map[string]any }
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Error != nil {
		t.Fatalf("%s: %v, %v", method, got.Error, err)
	}
	return got.Result
}

// begin sends a message and does not wait for its task.
func begin(t *testing.T, s *a2aservertest.Server, text string) a2a.TaskID {
	t.Helper()
	got := post(t, s.URL, "SendMessage", fmt.Sprintf(`{"message":{"messageId":"x1","role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true}}`, text))
	made, _ := got["task"].(map[string]any)
	id, _ := made["id"].(string)
	return a2a.TaskID(id)
}

// tick moves the clock of a server, which works meanwhile, until something comes.
func tick(t *testing.T, s *a2aservertest.Server, comes <-chan bool) {
	t.Helper()
	for range 2000 {
		select {
		case <-comes:
			return
		case <-time.After(10 * time.Millisecond):
			s.Advance(5 * time.Second)
		}
	}
	t.Fatal("nothing came within three hours of the server's clock")
}

// A cut stream of A2A 0.3, whose resubscription has no snapshot of the task, loses no text.
func TestCutStreamWithoutSnapshot(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	said := func(text string, more bool) string {
		return fmt.Sprintf(`{"kind":"artifact-update","taskId":"t1","contextId":"c","append":%v,"artifact":{"artifactId":"a","parts":[{"kind":"text","text":%q}]}}`, more, text)
	}
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"name":"h","description":"d","version":"1","protocolVersion":"0.3.0","url":%q,"preferredTransport":"JSONRPC","capabilities":{"streaming":true},"skills":[],"defaultInputModes":[],"defaultOutputModes":[]}`, h.URL)
			return
		}
		var request struct {
			ID     any
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id, _ := json.Marshal(request.ID)
		var events []string
		switch request.Method {
		case "message/stream":
			events = []string{`{"kind":"task","id":"t1","contextId":"c","status":{"state":"working"}}`, said("one ", false)}
		case "tasks/resubscribe": // "two " was said in between
			events = []string{said("three", true), `{"kind":"status-update","taskId":"t1","contextId":"c","final":true,"status":{"state":"completed"}}`}
		case "tasks/get":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"task","id":"t1","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"one two three"}]}]}}`, id)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, e)
		}
	})
	s := ours(t, h.URL, nil)
	text := s.Text(s.Wait(s.Send("/it hello").ID, a2a.TaskStateCompleted))
	if got := strings.ReplaceAll(text, "\n", ""); got != "one two three" {
		t.Errorf("the task says %q, want one two three", got)
	}
}

// Cancel reaches a child whose id was not known yet, also if the agent is away for a moment.
func TestCancelBeforeTheChildIsKnown(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	var lists atomic.Int64
	sending, canceled := make(chan bool, 1), make(chan bool, 1)
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			h.ServeHTTP(w, r)
			return
		}
		var request struct {
			ID, Method string
			Params     map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch request.Method {
		case "SendStreamingMessage":
			h.last.Store(&request.Params)
			sending <- true
			<-r.Context().Done()
		case "ListTasks":
			if lists.Add(1) == 1 {
				http.Error(w, "restarting", http.StatusServiceUnavailable)
				return
			}
			sent, _ := (*h.last.Load())["message"].(map[string]any)
			_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %q, "result": {"tasks": [{"id": "t1", "contextId": %q, "history": [{"messageId": %q, "role": "ROLE_USER", "parts": [{"text": "x"}]}], "status": {"state": "TASK_STATE_WORKING"}}], "totalSize": 1, "pageSize": 20, "nextPageToken": ""}}`, request.ID, sent["contextId"], sent["messageId"])
		case "CancelTask":
			_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %q, "result": %s}`, request.ID, child("t1", "CANCELED", ""))
			select {
			case canceled <- true:
			default:
			}
		}
	})
	s := ours(t, h.URL, nil)
	id := begin(t, s, "/it hello")
	<-sending
	post(t, s.URL, "CancelTask", fmt.Sprintf(`{"id":%q}`, id))
	tick(t, s, canceled)
}
