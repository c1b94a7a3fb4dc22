package a2a_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
)

// maxErrorAnswer is what no error is larger than.
const maxErrorAnswer = 64 << 10

// hostileMessages are the messages of requests that are large where nobody expects it.
func hostileMessages() map[string]string {
	huge := strings.Repeat("x", 100<<10)
	list := func(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	message := func(rest string) string {
		return `{"messageId":"m","role":"ROLE_USER",` + rest + `}`
	}
	return map[string]string{
		"parts":               message(`"parts":` + list("{}", 70_000)),
		"parts, as many":      message(`"parts":[{"text":5},` + list("{}", 19_999)[1:]),
		"parts without room":  message(`"parts":` + list(`{"text":""}`, 1025)),
		"parts, none with":    message(`"parts":` + list("{}", 1024)),
		"data":                message(`"parts":[{"data":` + list("{}", 70_000) + `}]`),
		"members of data":     message(`"parts":[{"data":{"tool":"x","args":{` + members(70_000) + `}}}]`),
		"metadata":            message(`"parts":[{"text":"x"}],"metadata":{"a":` + list("0", 70_000) + `}`),
		"decisions":           message(`"parts":[{"data":{"type":"approval_response","decisions":` + list("{}", 20_000) + `}}]`),
		"name of a tool":      message(`"parts":[{"data":{"tool":"` + huge + `"}}]`),
		"name of a command":   message(`"parts":[{"text":"/` + huge + `"}]`),
		"name of a member":    message(`"parts":[{"data":{"tool":"x","` + huge + `":1}}]`),
		"name that is twice":  message(`"parts":[{"data":{"` + huge + `":1,"` + huge + `":1}}]`),
		"hidden name, twice":  message(`"parts":[{"data":{"` + strings.Repeat("\u202e", 30_000) + `":1,"` + strings.Repeat("\u202e", 30_000) + `":1}}]`),
		"role":                `{"messageId":"m","parts":[{"text":"x"}],"role":"` + huge + `"}`,
		"raw":                 message(`"parts":[{"raw":"` + huge + `!"}]`),
		"media type":          message(`"parts":[{"text":"x","mediaType":"` + huge + `"}]`),
		"task":                message(`"parts":[{"text":"x"}],"taskId":"` + huge + `"`),
		"context":             message(`"parts":[{"text":"x"}],"contextId":"` + huge + `"`),
		"decision about none": message(`"parts":[{"data":{"type":"approval_response","decisions":[{"id":"` + huge + `","decision":"approve"}]}}]`),
	}
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `%q:0,`, fmt.Sprint(i))
	}
	return strings.TrimSuffix(b.String(), ",")
}

// What is refused, and what says that something cannot be done, is small, however large
// the request is that it is about.
func TestAnswersToHostileMessagesAreSmall(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.MaxBody = 8 << 20; c.Log = zerolog.Nop() }).URL
	task := parked(t, url)
	for name, message := range hostileMessages() {
		for way, send := range map[string]func(string) (int, string){
			"JSON-RPC": func(m string) (int, string) {
				return post(t, url, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":`+m+`}}`)
			},
			"JSON-RPC stream": func(m string) (int, string) {
				return post(t, url, `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":`+m+`}}`)
			},
			"REST stream": func(m string) (int, string) {
				return post(t, url+"/message:stream", `{"message":`+m+`}`)
			},
			"to a task that waits": func(m string) (int, string) {
				return post(t, url+"/message:send", `{"message":`+strings.Replace(m, `"messageId":"m"`, `"messageId":"m","taskId":"`+task+`"`, 1)+`,"configuration":{"historyLength":0}}`)
			},
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				status, body := send(message)
				if len(body) > maxErrorAnswer {
					t.Errorf("%d with %d bytes: %.300s", status, len(body), body)
				}
				if strings.Contains(body, "internal error") {
					t.Errorf("%d %.300s", status, body)
				}
			})
		}
	}
}

// Parts and values are counted before they are used: what is refused names
// the first one too many, or how many there are, and not each of them.
func TestPartsAreCountedFirst(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.MaxBody = 8 << 20; c.Log = zerolog.Nop() }).URL
	messages := hostileMessages()
	for name, want := range map[string]string{
		"parts":              "more than 65536 values",
		"parts, as many":     "invalid value for string field text",
		"parts without room": "has 1025 parts; at most 1024 are allowed",
		"parts, none with":   "1008 more mistakes",
		"data":               "more than 65536 values",
		"members of data":    "more than 65536 values",
		"metadata":           "more than 65536 values",
	} {
		status, body := post(t, url+"/message:send", `{"message":`+messages[name]+`}`)
		if n := strings.Count(body, `"field":`); status != http.StatusBadRequest || !strings.Contains(body, want) || n > 17 {
			t.Errorf("%s: %d with %d violations, want one that says %q: %.500s", name, status, n, want, body)
		}
	}
}

// An error of JSON-RPC is bounded with all that it repeats: method, id, and what a
// parameter is.
func TestJSONRPCErrorsAreSmall(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.MaxBody = 8 << 20; c.Log = zerolog.Nop() }).URL
	huge := strings.Repeat("<", 500_000)
	id := `"` + strings.Repeat("x", 1022) + `"`
	for name, tc := range map[string]struct{ body, want string }{
		"method":           {`{"jsonrpc":"2.0","id":1,"method":"` + huge + `"}`, `unknown method, with a name of 500000 bytes`},
		"longest method":   {`{"jsonrpc":"2.0","id":1,"method":"` + huge[:1022] + `"}`, `there is no method \u003c`},
		"id":               {`{"jsonrpc":"2.0","id":"` + huge + `","method":"GetTask"}`, `"id":null,"error":{"code":-32600`},
		"id, one too long": {`{"jsonrpc":"2.0","id":"x` + id[1:] + `,"method":"GetTask"}`, `"id":null,"error":{"code":-32600`},
		"longest id":       {`{"jsonrpc":"2.0","id":` + id + `,"method":"GetTask","params":{}}`, `"id":` + id + `,"error":{"code":-32602`},
		"id of a stream":   {`{"jsonrpc":"2.0","id":"` + huge + `","method":"SubscribeToTask"}`, `data: {"jsonrpc":"2.0","id":null,"error":{"code":-32600`},
		"digits":           {`{"jsonrpc":"2.0","id":` + strings.Repeat("1", 100_000) + `,"method":"GetTask"}`, `"id":null,"error":{"code":-32600`},
		"version":          {`{"jsonrpc":"` + huge + `","id":1,"method":"GetTask"}`, `jsonrpc must be`},
		"parameter":        {`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"historyLength":"` + huge + `"}}`, `this is not a valid GetTaskRequest`},
		"state":            {`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"` + huge + `"}}`, `status cannot be`},
		"task":             {`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + huge + `"}}`, `TASK_NOT_FOUND`},
		"page token":       {`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageToken":"` + huge + `"}}`, `"error"`},
		"name":             {`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"` + huge + `":{"a":1,"a":2}}}`, `duplicate name`},
		"name outside":     {`{"jsonrpc":"2.0","id":1,"method":"GetTask","` + huge + `":{"a":1,"a":2}}`, `duplicate name`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, body := post(t, url, tc.body); len(body) > maxErrorAnswer || !strings.Contains(body, tc.want) {
				t.Errorf("%d bytes, want at most 64 KiB with %q: %.300s", len(body), tc.want, body)
			}
		})
	}
}

// A query and a header are repeated in part, too.
func TestRESTErrorsAreSmall(t *testing.T) {
	t.Parallel()
	url := start(t, func(c *a2a.Config) { c.Log = zerolog.Nop() }).URL
	huge := strings.Repeat("%E2%80%AE", 5000)
	for _, path := range []string{"/tasks?status=" + huge, "/tasks?pageSize=" + huge, "/tasks?includeArtifacts=" + huge, "/tasks?statusTimestampAfter=" + huge, "/tasks/" + huge, "/tasks?A2A-Version=" + huge} {
		got := get(t, url+path)
		if len(got.body) > 2<<10 || got.status < 400 || strings.Contains(got.body, "\u202e") {
			t.Errorf("GET %.30s = %d with %d bytes: %.300s", path, got.status, len(got.body), got.body)
		}
	}
	if got := get(t, url+"/tasks", "A2A-Version", strings.Repeat("9", 50_000)); len(got.body) > 2<<10 || !strings.Contains(got.body, "VERSION_NOT_SUPPORTED") {
		t.Errorf("a version of 50 kB = %d with %d bytes", got.status, len(got.body))
	}
}

// The log repeats a path and a method in part, and escaped.
func TestLogIsShort(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	srv := start(t, func(c *a2a.Config) { c.Log = zerolog.New(&log) })
	r := newRequest(t, http.MethodGet, srv.URL+"/tasks/"+strings.Repeat("%C2%9B%E2%80%AE", 2000), "")
	do(t, r)
	r.Method = strings.Repeat("M", 30_000)
	do(t, r)
	srv.Close() // waits for the handler, which logs last
	if lines := strings.Count(log.String(), "\n"); lines != 2 || log.Len() > 1<<10 || strings.ContainsAny(log.String(), "\u009b\u202e") {
		t.Errorf("%d lines of %d bytes: %.500q", lines, log.Len(), log.String())
	}
}
