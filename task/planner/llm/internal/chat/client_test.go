package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"a2a-server/internal/egress"
	"a2a-server/internal/modeltest"
	"a2a-server/task/planner/llm/internal/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of an endpoint.
func newClient(t testing.TB, e http.Handler, change ...func(*chat.Config)) *chat.Client {
	t.Helper()
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	c := chat.Config{URL: server.URL + "/v1/", Egress: egress.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	for _, f := range change {
		f(&c)
	}
	client, err := chat.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func body(t testing.TB) []byte {
	t.Helper()
	raw, err := (&chat.Request{Model: "m", Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"go"}`)}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// complete sends a request, and returns what was said, too.
func complete(t testing.TB, c *chat.Client) (*chat.Answer, string, error) {
	t.Helper()
	var said strings.Builder
	answer, err := c.Complete(t.Context(), body(t), func(text string) error {
		said.WriteString(text)
		return nil
	})
	return answer, said.String(), err
}

// The answer is the same in each dialect, however its bytes come.
func TestDialects(t *testing.T) {
	t.Parallel()
	for _, dialect := range []modeltest.Dialect{modeltest.OpenAI, modeltest.Ollama, modeltest.VLLM} {
		for _, split := range []int{0, 1, 7} {
			t.Run(fmt.Sprint(dialect, " ", split), func(t *testing.T) {
				t.Parallel()
				c := newClient(t, &modeltest.Endpoint{Dialect: dialect, Model: "m", Key: "sk-1", Split: split, Comment: split > 1, Answer: func(*modeltest.Request) modeltest.Answer {
					return modeltest.Answer{
						Text: "Größe: 250 €, ok?", Reasoning: "let me think", Extra: `"extra_content":{"google":{"thought_signature":"abc"}}`,
						Calls: []modeltest.Call{{Name: "pay", Args: `{"to":"Zoë","n":1}`}, {Name: "pay", Args: `{"to":"bob"}`}},
					}
				}}, func(c *chat.Config) { c.Key = func() (string, error) { return "sk-1", nil } })
				got, said, err := complete(t, c)
				if err != nil {
					t.Fatal(err)
				}
				if said != "Größe: 250 €, ok?" || got.Text != said {
					t.Errorf("said %q, and the text is %q", said, got.Text)
				}
				if len(got.Calls) != 2 || got.Calls[0].ID == got.Calls[1].ID || string(got.Calls[0].Args) != `{"to":"Zoë","n":1}` || string(got.Calls[1].Args) != `{"to":"bob"}` {
					t.Errorf("Calls = %s", got.Calls)
				}
				if diff := cmp.Diff(chat.Usage{In: 100, Out: 10, Cached: 64}, got.Usage); diff != "" || got.Model != "m" {
					t.Errorf("model %q, usage (-want +got):\n%s", got.Model, diff)
				}
				if m := string(got.Message); !strings.Contains(m, `:"let me think"`) || !strings.Contains(m, `"extra_content":{"google":{"thought_signature":"abc"}}`) {
					t.Errorf("the message %s has not all fields of the model", m)
				}
			})
		}
	}
}

// manyCalls is an event of calls that have nothing else.
var manyCalls = func() string {
	var calls []string
	for i := range 300 {
		calls = append(calls, fmt.Sprintf(`{"index":%d}`, i))
	}
	return `data: {"choices":[{"delta":{"tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":"stop"}]}` + "\n\n"
}()

// Only a complete answer counts, and an error says whether the same request may succeed later.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer    modeltest.Answer
		temporary bool
		reason    string
	}{
		"too many requests":       {modeltest.Answer{Status: 429, RetryAfter: "7", Body: `{"error":{"message":"slow down"}}`}, true, "429"},
		"broken":                  {modeltest.Answer{Status: 500, Body: "oops"}, true, "500"},
		"overloaded":              {modeltest.Answer{Status: 529, Body: "{}"}, true, "529"},
		"invalid":                 {modeltest.Answer{Status: 400, Body: "{}"}, false, "400"},
		"not authorized":          {modeltest.Answer{Status: 401, Body: "{}"}, false, "planner.llm.key"},
		"not found":               {modeltest.Answer{Status: 404, Body: "404 page not found"}, false, "planner.llm.url"},
		"redirect":                {modeltest.Answer{Status: 302, Body: "moved"}, false, "302"},
		"HTML":                    {modeltest.Answer{Body: "<html>sign in</html>", ContentType: "text/html"}, false, `"text/html"`},
		"no type":                 {modeltest.Answer{Body: "data: [DONE]\n\n", ContentType: "application/octet-stream"}, false, "events or JSON"},
		"other JSON":              {modeltest.Answer{Body: `{"status":"ok"}`}, false, "no completed answer"},
		"JSON that is cut":        {modeltest.Answer{Body: `{"choices":[`}, true, "before it was complete"},
		"JSON with an error":      {modeltest.Answer{Body: `{"error":{"message":"loading","type":"server_error"}}`}, true, "error in its answer"},
		"JSON with an error text": {modeltest.Answer{Body: `{"error":"model is loading"}`}, true, "error in its answer"},
		"lost":                    {modeltest.Answer{Text: "It is wonderful", Cut: 3}, true, "before it was complete"},
		"lost in a call":          {modeltest.Answer{Calls: []modeltest.Call{{Name: "pay", Args: `{"n":1000}`}}, Cut: 3}, true, "before it was complete"},
		"ends cleanly":            {modeltest.Answer{Text: "It is wonderful", End: 3}, true, "before it was complete"},
		"no finish reason":        {modeltest.Answer{Text: "It is", Finish: "-"}, true, "before it was complete"},
		"silent":                  {modeltest.Answer{Text: "It is", Stall: 2}, true, "sent nothing for"},
		"error in the middle":     {modeltest.Answer{Text: "It is", Error: `{"error":{"message":"out of memory","code":500}}`}, true, "error in its answer"},
		"error of vLLM":           {modeltest.Answer{Text: "It is", Error: `{"object":"error","message":"too long","type":"BadRequestError","code":400}`}, false, "error in its answer"},
		"error that stays":        {modeltest.Answer{Text: "It is", Error: `{"error":{"message":"no","type":"invalid_request_error"}}`}, false, "error in its answer"},
		"rate limit of OpenAI":    {modeltest.Answer{Text: "It is", Error: `{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`}, true, "error in its answer"},
		"quota of OpenAI":         {modeltest.Answer{Text: "It is", Error: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`}, false, "error in its answer"},
		"context of OpenAI":       {modeltest.Answer{Text: "It is", Error: `{"error":{"message":"too long","type":"","code":"context_length_exceeded"}}`}, false, "error in its answer"},
		"deadline of Google":      {modeltest.Answer{Text: "It is", Error: `{"error":{"message":"slow","code":"deadline_exceeded"}}`}, true, "error in its answer"},
		"an event is no JSON":     {modeltest.Answer{Text: "It is", Error: `{"choices":`}, true, "before it was complete"},
		"a long text":             {modeltest.Answer{Text: strings.Repeat("long ", 300_000)}, false, "more than"},
		"long arguments":          {modeltest.Answer{Calls: []modeltest.Call{{Name: "pay", Args: `"` + strings.Repeat("x", 300<<10) + `"`}}}, false, "more than"},
		"many calls":              {modeltest.Answer{ContentType: "text/event-stream", Body: manyCalls}, false, "more than 256 calls"},
		"a long line":             {modeltest.Answer{Error: `{"x":"` + strings.Repeat("x", 2<<20) + `"}`}, false, "line of more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, &modeltest.Endpoint{Dialect: modeltest.OpenAI, Answer: func(*modeltest.Request) modeltest.Answer { return tc.answer }}, func(c *chat.Config) {
				if tc.answer.Stall > 0 {
					c.Stall = 200 * time.Millisecond
				}
			})
			got, _, err := complete(t, c)
			e, is := errors.AsType[*chat.Error](err)
			if !is {
				t.Fatalf("Complete() = %+v, %v, want an *Error", got, err)
			}
			if e.Temporary != tc.temporary || !strings.Contains(e.Reason, tc.reason) {
				t.Errorf("Complete() = %+v, want temporary: %v, and a reason with %q", e, tc.temporary, tc.reason)
			}
			if want := map[string]time.Duration{"7": 7 * time.Second}[tc.answer.RetryAfter]; e.RetryAfter != want {
				t.Errorf("RetryAfter = %v, want %v", e.RetryAfter, want)
			}
			for _, secret := range []string{"out of memory", "oops", "sign in", "127.0.0.1"} {
				if strings.Contains(e.Reason, secret) {
					t.Errorf("clients are told %q", e.Reason)
				}
			}
		})
	}
}

// A key that the server repeats does not get into the log, however it repeats it.
func TestKeyIsKept(t *testing.T) {
	t.Parallel()
	const key = `sk/"0123456789abcdefghijklmnopqrstuvwxyz`
	kept := []string{key, "s3cret", "dXNlcjpwYXNz"}
	encoded, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"headers":   {500, "wrong: Bearer " + key + ", s3cret and dXNlcjpwYXNz", "wrong: Bearer •••, ••• and •••"},
		"JSON":      {401, `{"error":` + string(encoded) + `}`, `{"error":"•••"}`},
		"slashes":   {401, strings.ReplaceAll(string(encoded), "/", `\/`), `"•••"`},
		"code unit": {401, strings.ReplaceAll(string(encoded), "/", `\u002F`), `"•••"`},
		"cut":       {401, strings.Repeat(key, 50) + strings.Repeat("错", 650), strings.Repeat("•••", 50)},
		"at cut":    {401, strings.Repeat("错", 676) + key + "more", strings.Repeat("错", 676) + "•••"},
		"page":      {200, strings.Repeat("错", 676) + key, "•••"},
		"event":     {200, `data: {"error":{"message":"` + strings.Repeat("错", 674) + strings.ReplaceAll(key, `"`, `\"`) + "\"}}\n\n", "•••"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, &modeltest.Endpoint{Answer: func(*modeltest.Request) modeltest.Answer {
				return modeltest.Answer{Status: tc.status, Body: tc.body, ContentType: map[string]string{"event": "text/event-stream"}[name] + map[string]string{"page": "text/html"}[name]}
			}}, func(c *chat.Config) {
				c.Key = func() (string, error) { return key, nil }
				c.Header = map[string]func() (string, error){
					"X-Team":              func() (string, error) { return "s3cret", nil },
					"Proxy-Authorization": func() (string, error) { return "Basic dXNlcjpwYXNz", nil },
				}
			})
			_, _, err := complete(t, c)
			e, is := errors.AsType[*chat.Error](err)
			if !is || !strings.Contains(e.Detail, tc.want) || len(e.Detail) > 3<<10 {
				t.Fatalf("Complete() = %v, %+v, want a detail with %q", err, e, tc.want)
			}
			for _, secret := range append(kept, key[:12]) {
				if strings.Contains(e.Detail, secret) {
					t.Errorf("the detail %q has %q", e.Detail, secret)
				}
			}
		})
	}
}

// JSON that is too long is as long the next time, whether its length is announced or not. The length
// of a page with another status does not matter.
func TestLargeJSON(t *testing.T) {
	t.Parallel()
	page := `{"choices":[{"message":{"content":"` + strings.Repeat("0123456789", 200_000) + `"},"finish_reason":"stop"}]}`
	for _, announced := range []bool{false, true} {
		for status, want := range map[int]string{http.StatusOK: "more than 1048576 bytes", http.StatusServiceUnavailable: "answered 503"} {
			c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if announced {
					w.Header().Set("Content-Length", strconv.Itoa(len(page)))
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, page) // the client leaves
			}))
			_, _, err := complete(t, c)
			if e, is := errors.AsType[*chat.Error](err); !is || e.Temporary != (status != http.StatusOK) || !strings.Contains(e.Reason, want) {
				t.Errorf("%d, announced: %v: Complete() = %+v, want %q", status, announced, err, want)
			}
		}
	}
}

// Reasoning costs no field of a call or of the message, without which endpoints refuse them, and no
// call. It is the first to be left out of the message.
func TestLongReasoning(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args int // bytes
		kept bool
	}{"reasoning fits": {10, true}, "only the call fits": {150 << 10, false}} {
		var stream strings.Builder
		for range 2500 {
			stream.WriteString(`data: {"choices":[{"delta":{"reasoning_content":"` + strings.Repeat("thinking ", 7) + `"}}]}` + "\n\n")
		}
		stream.WriteString(`data: {"choices":[{"delta":{"details":"D1","tool_calls":[{"index":0,"id":"a","function":{"name":"pay","arguments":{"to":"` + strings.Repeat("x", tc.args) + `"}},"extra_content":{"google":{"thought_signature":"SIG"}}}]},"finish_reason":"tool_calls"}]}` + "\n\n")
		got, _, err := complete(t, newClient(t, &modeltest.Endpoint{Answer: func(*modeltest.Request) modeltest.Answer {
			return modeltest.Answer{ContentType: "text/event-stream", Body: stream.String()}
		}}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := string(got.Message)
		if !strings.Contains(m, `"thought_signature":"SIG"`) || !strings.Contains(m, `"details":"D1"`) || strings.Contains(m, "thinking") != tc.kept || !strings.HasPrefix(got.Reasoning, "thinking") {
			t.Errorf("%s: a message of %d bytes and %d of reasoning lacks a field, or has reasoning: want %v", name, len(m), len(got.Reasoning), tc.kept)
		}
	}
}

// The names of a model and of a finish reason are logged and shown, so they are short. Names of
// fields count as the fields do.
func TestLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300_000)
	c := newClient(t, &modeltest.Endpoint{Answer: func(*modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Body: `{"model":"` + long + `","choices":[{"message":{"content":"hi","` + long + `":1},"finish_reason":"` + long + `"}]}`}
	}})
	got, _, err := complete(t, c)
	if err != nil || len(got.Model) > 200 || len(got.Finish) > 200 || len(got.Message) > chat.MaxMessage {
		t.Errorf("Complete() = %d bytes of model, %d of finish, %d of message, %v", len(got.Model), len(got.Finish), len(got.Message), err)
	}
}

// Whatever follows the finish reason, the answer is complete; and a server need not stream.
func TestComplete(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]modeltest.Answer{
		"cut after the finish reason": {Text: "ok", Cut: 3},
		"ends without DONE":           {Text: "ok", End: 4},
		"silent after it":             {Text: "ok", Stall: 3},
		"not streamed":                {Body: `{"model":"m","choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"ok"}]},"finish_reason":"stop"}]}`},
		"a byte order mark and CR":    {ContentType: "text/event-stream", Body: "\ufeffdata: {\"choices\":[{\"delta\":\rdata: {\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\r\r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, &modeltest.Endpoint{Dialect: modeltest.OpenAI, Answer: func(*modeltest.Request) modeltest.Answer { return answer }}, func(c *chat.Config) { c.Stall = 200 * time.Millisecond })
			got, said, err := complete(t, c)
			if err != nil || got.Text != "ok" || said != "ok" || got.Finish != "stop" {
				t.Errorf("Complete() = %+v, %v, and said %q", got, err, said)
			}
		})
	}
}

// A new call begins with a new id or a new index, whatever these are.
func TestCalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		deltas []string
		want   []string // id, name and arguments
	}{
		"fragments":             {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"n\""}}`, `{"index":0,"function":{"arguments":":1}"}}`}, []string{`a x {"n":1}`}},
		"fragments that mix":    {[]string{`{"index":0,"id":"a","function":{"name":"x"}}`, `{"index":1,"id":"b","function":{"name":"y"}}`, `{"index":0,"function":{"arguments":"{}"}}`, `{"index":1,"function":{"arguments":"[]"}}`}, []string{`a x {}`, `b y []`}},
		"ids at the same index": {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"index":0,"id":"b","function":{"name":"x","arguments":"{}"}}`}, []string{`a x {}`, `b x {}`}},
		"the same id twice":     {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"index":1,"id":"a","function":{"name":"y","arguments":"{}"}}`}, []string{`a x {}`, `call_2_y y {}`}},
		"the id each time":      {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}`, `{"index":0,"id":"a","function":{"name":"x","arguments":"}"}}`}, []string{`a x {}`}},
		"no ids":                {[]string{`{"index":0,"function":{"name":"x","arguments":"{}"}}`, `{"index":1,"function":{"name":"y","arguments":"{}"}}`}, []string{`call_1_x x {}`, `call_2_y y {}`}},
		"no ids at one index":   {[]string{`{"index":0,"function":{"name":"x","arguments":"{}"}}`, `{"index":0,"function":{"name":"y","arguments":"{}"}}`}, []string{`call_1_x x {}`, `call_2_y y {}`}},
		"no index":              {[]string{`{"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"id":"b","function":{"name":"y","arguments":""}}`, `{"function":{"arguments":"{}"}}`}, []string{`a x {}`, `b y {}`}},
		"one index, no ids":     {[]string{`{"index":0,"function":{"name":"x","arguments":""}},{"index":0,"function":{"name":"y","arguments":"{\"n\":1}"}}`}, []string{`call_1_x x {}`, `call_2_y y {"n":1}`}},
		"one id, no index":      {[]string{`{"id":"a","function":{"name":"x","arguments":""}},{"id":"a","function":{"name":"y","arguments":"{\"n\":1}"}}`}, []string{`a x {}`, `call_2_y y {"n":1}`}},
		"one id, one index":     {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"index":0,"id":"a","function":{"name":"y","arguments":"{"}}`, `{"index":0,"function":{"arguments":"}"}}`}, []string{`a x {}`, `call_2_y y {}`}},
		"one id, one name":      {[]string{`{"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}`}, []string{`a x {}`, `call_2_x x {"n":1}`}},
		"names in each piece":   {[]string{`{"index":0,"function":{"name":"x","arguments":"{\"n\":\"}\\\""}}`, `{"index":0,"function":{"name":"x","arguments":"{\"}"}}`}, []string{`call_1_x x {"n":"}\"{"}`}},
		"nothing but names":     {[]string{`{"function":{"name":"x","arguments":null}},{"function":{"name":"x"}},{"function":{"name":"y","arguments":{"n":1}}}`}, []string{`call_1_x x {}`, `call_2_x x {}`, `call_3_y y {"n":1}`}},
		"a call that is cut":    {[]string{`{"index":0,"function":{"name":"x","arguments":"{\"n\""}}`, `{"index":0,"function":{"name":"y","arguments":"{}"}}`}, []string{`call_1_x x {"n"`, `call_2_y y {}`}},
		"ids like ours":         {[]string{`{"index":0,"function":{"name":"x"}}`, `{"index":1,"id":"call_1_x","function":{"name":"x"}}`, `{"index":2,"id":"call_2_x","function":{"name":"x"}}`}, []string{`call_3_x x {}`, `call_1_x x {}`, `call_2_x x {}`}},
		"the id, and no more":   {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":""}}`, `{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}`, `{"index":0,"id":"a","function":{"name":"x","arguments":""}}`}, []string{`a x {}`}},
		"neither":               {[]string{`{"function":{"name":"x","arguments":"{}"}}`, `{"function":{"name":"y","arguments":"{}"}}`}, []string{`call_1_x x {}`, `call_2_y y {}`}},
		"odd indexes":           {[]string{`{"index":-1,"id":"a","function":{"name":"x","arguments":"{"}}`, `{"index":99999999,"id":"b","function":{"name":"y","arguments":"{}"}}`, `{"index":-1,"function":{"arguments":"}"}}`}, []string{`a x {}`, `b y {}`}},
		"arguments as object":   {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":{"n":[1]}}}`}, []string{`a x {"n":[1]}`}},
		"no arguments":          {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":null}}`}, []string{`a x {}`}},
		"broken arguments":      {[]string{`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":"}}`}, []string{`a x {"n":`}},
		"fields of its own":     {[]string{`{"index":0,"id":"a","extra_content":{"s":"q"},"function":{"name":"x","arguments":"{}"}}`}, []string{`a x {}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stream strings.Builder
			for _, d := range tc.deltas {
				fmt.Fprintf(&stream, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[%s]}}]}\n\n", d)
			}
			stream.WriteString("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			c := newClient(t, &modeltest.Endpoint{Answer: func(*modeltest.Request) modeltest.Answer {
				return modeltest.Answer{ContentType: "text/event-stream", Body: stream.String()}
			}})
			got, _, err := complete(t, c)
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, c := range got.Calls {
				calls = append(calls, c.ID+" "+c.Name+" "+string(c.Args))
			}
			if diff := cmp.Diff(tc.want, calls); diff != "" {
				t.Errorf("Calls (-want +got):\n%s", diff)
			}
			if strings.Contains(tc.deltas[0], "extra") && !strings.Contains(string(got.Message), `"extra_content":{"s":"q"}`) {
				t.Errorf("the message %s lacks a field of its call", got.Message)
			}
		})
	}
}

// The end of a request's context ends the request at the endpoint; an address that is not public
// is not dialed; a key that cannot be read sends nothing.
func TestRequestEnds(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	c := newClient(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(left)
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	time.AfterFunc(50*time.Millisecond, func() { cancel(stopped) })
	if _, err := c.Complete(ctx, body(t), func(string) error { return nil }); !errors.Is(err, stopped) {
		t.Errorf("Complete() = %v, want the cause", err)
	}
	<-left
	for name, change := range map[string]func(*chat.Config){
		"networks": func(c *chat.Config) { c.URL, c.Egress = "http://169.254.169.254/v1", egress.Config{} },
		"no key":   func(c *chat.Config) { c.Key = func() (string, error) { return "", errors.New("no key") } },
		"reached":  func(c *chat.Config) { c.URL = "http://127.0.0.1:1/v1" },
	} {
		c := newClient(t, &modeltest.Endpoint{Answer: func(*modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "sent"} }}, change)
		if _, said, err := complete(t, c); err == nil || !strings.Contains(err.Error(), name) || said != "" {
			t.Errorf("Complete() = %v, want an error about %q", err, name)
		}
	}
}

// Whatever comes, an answer is complete and can be sent again, and is the same however its bytes
// come.
func FuzzEvents(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"x\":[1]},\"finish_reason\":\"stop\"}]}\n\n")
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":{}}},{}]}}]}\r\rdata:{\"choices\":[{\"finish_reason\":\"x\"}],\"usage\":{\"prompt_tokens\":-1}}\r\n\r\n")
	f.Add(": c\n\ndata: {\"error\":\"x\"}\n\ndata: [DONE]\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		read := func(from io.Reader) (*chat.Answer, string, error) {
			said := ""
			answer, err := chat.ReadEvents(from, func(text string) error {
				said += text
				return nil
			})
			return answer, said, err
		}
		got, said, err := read(strings.NewReader(stream))
		again, repeated, err2 := read(iotest.OneByteReader(strings.NewReader(stream)))
		if (err == nil) != (err2 == nil) || said != repeated || !cmp.Equal(got, again) {
			t.Errorf("%q is read as %+v, %q, %v, and in single bytes as %+v, %q, %v", stream, got, said, err, again, repeated, err2)
		}
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for _, c := range got.Calls {
			if c.ID == "" || ids[c.ID] {
				t.Errorf("the id %q is empty or not unique", c.ID)
			}
			ids[c.ID] = true
		}
		if got.Finish == "" || !json.Valid(got.Message) || len(got.Calls) > 0 && len(got.Message) > chat.MaxMessage || got.Text != said || got.Usage.In < 0 {
			t.Errorf("%q makes the answer %+v, and said %q", stream, got, said)
		}
	})
}
