package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

// testCurl is what no official client does: it resumes streams by Last-Event-ID, and
// looks at the bytes.
func testCurl(t *testing.T, p programs) {
	s := start(t, p.server, t.TempDir())
	for _, b := range []curlClient{
		{curl: p.curl, url: s.url, name: "jsonrpc", rpc: true},
		{curl: p.curl, url: s.url, name: "rest"},
	} {
		for name, play := range map[string]func(context.Context, *testing.T, curlClient){
			"resume a stream that has ended":  resumeEnded,
			"resume a stream that broke":      resumeBroken,
			"resume while parked":             resumeParked,
			"refused decision on the wire":    refusedOnTheWire,
			"an id that is not of the stream": foreignID,
		} {
			t.Run(b.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := deadline(t)
				defer cancel()
				play(ctx, t, b)
			})
		}
	}
	t.Run("card is known", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := deadline(t)
		defer cancel()
		knownCard(ctx, t, p.curl, s.url)
	})
}

// curlClient writes the requests of one binding for curl.
type curlClient struct {
	curl, url, name string
	rpc             bool
}

// args are the arguments for a call: its method in JSON-RPC, its path in HTTP+JSON.
func (c curlClient) args(t *testing.T, method, path string, params any, more ...string) []string {
	t.Helper()
	url, body := c.url+path, params
	if c.rpc {
		url, body = c.url, map[string]any{"jsonrpc": "2.0", "id": "x", "method": method, "params": params}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--header", "Content-Type: application/json", "--header", "A2A-Version: 1.0", "--data", string(raw)}
	return append(append(args, more...), url)
}

func (c curlClient) stream(ctx context.Context, t *testing.T, m *a2a.Message) *frames {
	t.Helper()
	return curlStream(ctx, t, c.curl, c.args(t, "SendStreamingMessage", "/message:stream", map[string]any{"message": m})...)
}

func (c curlClient) subscribe(ctx context.Context, t *testing.T, id a2a.TaskID, lastEventID string) *frames {
	t.Helper()
	return curlStream(ctx, t, c.curl, c.args(t, "SubscribeToTask", "/tasks/"+string(id)+":subscribe", map[string]any{"id": id},
		"--header", "Last-Event-ID: "+lastEventID)...)
}

// answer makes a call and returns the body of its answer, and its status.
func (c curlClient) answer(ctx context.Context, t *testing.T, method, path string, params any) (body, status string) {
	t.Helper()
	out := typed(ctx, t, c.curl, append([]string{"--silent", "--show-error", "--write-out", "\n%{http_code}"}, c.args(t, method, path, params)...)...)
	at := strings.LastIndexByte(out, '\n')
	return out[:at], out[at+1:]
}

func (c curlClient) send(ctx context.Context, t *testing.T, m *a2a.Message) (body, status string) {
	t.Helper()
	return c.answer(ctx, t, "SendMessage", "/message:send", map[string]any{"message": m})
}

// taskOf returns the task that a stream begins with.
func taskOf(t *testing.T, first frame) *a2a.Task {
	t.Helper()
	task, ok := first.event(t).(*a2a.Task)
	if !ok {
		t.Fatalf("the stream begins with %s, want a task", first.Data)
	}
	return task
}

func resumeEnded(ctx context.Context, t *testing.T, c curlClient) {
	all := c.stream(ctx, t, text("/stream chunks=20 size=12")).rest(t)
	if len(all) < 23 { // the task, working, the chunks, completed
		t.Fatalf("%d frames, want 23 or more", len(all))
	}
	id := taskOf(t, all[0]).ID
	for _, at := range []int{0, 1, 9, len(all) - 2, len(all) - 1} {
		// Byte for byte what followed the first time.
		got := c.subscribe(ctx, t, id, all[at].ID).rest(t)
		if diff := cmp.Diff(slices.Clip(all[at+1:]), got); diff != "" && len(all[at+1:])+len(got) > 0 {
			t.Errorf("after frame %d (-first time +resumed):\n%s", at, diff)
		}
	}
}

func resumeBroken(ctx context.Context, t *testing.T, c curlClient) {
	var told story
	seen := map[string]bool{}
	last := ""
	read := func(f *frames, n int) {
		t.Helper()
		for range n {
			next, ok := f.next(t)
			if !ok {
				t.Fatalf("the stream ended after %d chunks", told.chunks)
			}
			if seen[next.ID] || next.ID == "" {
				t.Fatalf("the id %q came twice, or is none", next.ID)
			}
			seen[next.ID], last = true, next.ID
			told.add(t, next.event(t))
		}
	}
	first, breakOff := context.WithCancel(ctx)
	defer breakOff()
	read(c.stream(first, t, call("stream", map[string]any{"chunks": 100000, "size": 12, "interval": "5ms"})), 10)
	breakOff()
	second, breakOff2 := context.WithCancel(ctx)
	defer breakOff2()
	read(c.subscribe(second, t, told.task, last), 10)
	breakOff2()

	third := c.subscribe(ctx, t, told.task, last)
	read(third, 10)
	if body, status := c.answer(ctx, t, "CancelTask", "/tasks/"+string(told.task)+":cancel", map[string]any{"id": told.task}); status != "200" {
		t.Fatalf("cancel: %s %s", status, body)
	}
	for _, f := range third.rest(t) {
		told.add(t, f.event(t))
	}
	if told.state() != a2a.TaskStateCanceled {
		t.Errorf("the stream ends with the task %s, want it canceled", told.state())
	}
	// The three streams together say what the task says.
	if got := artifactText(t, c.task(ctx, t, told.task)); got != told.text() {
		t.Errorf("the task says %d bytes, the streams %d, or others", len(got), len(told.text()))
	}
}

// task reads a task by HTTP+JSON, which answers with nothing around it.
func (c curlClient) task(ctx context.Context, t *testing.T, id a2a.TaskID) *a2a.Task {
	t.Helper()
	out := typed(ctx, t, c.curl, "--silent", "--show-error", "--fail", c.url+"/tasks/"+string(id))
	var task a2a.Task
	if err := json.Unmarshal([]byte(out), &task); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return &task
}

// A client that has seen the question comes back with its id. It gets no snapshot,
// only what comes of the decision.
func resumeParked(ctx context.Context, t *testing.T, c curlClient) {
	all := c.stream(ctx, t, call("transfer_money", map[string]any{"amount": 1, "to": "resume"})).rest(t)
	id := taskOf(t, all[0]).ID
	f := c.subscribe(ctx, t, id, all[len(all)-1].ID)
	task := c.task(ctx, t, id)
	if body, status := c.send(ctx, t, answer(task, decision(asked(t, task).ID, "approve", nil))); status != "200" || strings.Contains(body, `"error"`) {
		t.Fatalf("approve: %s %s", status, body)
	}
	told := story{task: id}
	for _, next := range f.rest(t) {
		told.add(t, next.event(t))
	}
	want := []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted}
	if diff := cmp.Diff(want, told.states); diff != "" || told.chunks != 1 {
		t.Errorf("%d chunks, want 1, and the states (-want +got):\n%s", told.chunks, diff)
	}
}

// What a refused decision looks like to somebody who reads all of it.
func refusedOnTheWire(ctx context.Context, t *testing.T, c curlClient) {
	all := c.stream(ctx, t, call("transfer_money", map[string]any{"amount": 1, "to": "nobody"})).rest(t)
	task := taskOf(t, all[0])
	body, status := c.send(ctx, t, answer(task, decision("no-such", "approve", nil)))
	var is struct {
		Error struct {
			Code    int
			Status  string
			Details []struct{ Reason string }
			Data    []struct{ Reason string }
		}
	}
	if err := json.Unmarshal([]byte(body), &is); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	wantStatus, wantCode, wantGRPC := "400", 400, "INVALID_ARGUMENT"
	details := is.Error.Details
	if c.rpc {
		wantStatus, wantCode, wantGRPC, details = "200", -32602, "", is.Error.Data
	}
	if status != wantStatus || is.Error.Code != wantCode || is.Error.Status != wantGRPC {
		t.Errorf("answer = %s %s, want status %s, code %d %s", status, body, wantStatus, wantCode, wantGRPC)
	}
	if !slices.ContainsFunc(details, func(d struct{ Reason string }) bool { return d.Reason == "APPROVAL_UNKNOWN" }) {
		t.Errorf("answer = %s, want a detail with the reason APPROVAL_UNKNOWN", body)
	}
}

// An id of another task, or none of ours, is as good as none: the stream begins with
// a snapshot.
func foreignID(ctx context.Context, t *testing.T, c curlClient) {
	message := func() *a2a.Message { return call("transfer_money", map[string]any{"amount": 1, "to": "nobody"}) }
	other := c.stream(ctx, t, message()).rest(t)
	id := taskOf(t, c.stream(ctx, t, message()).rest(t)[0]).ID
	for _, foreign := range []string{other[1].ID, "nonsense", "99999999999999999999-0000"} {
		first, ok := c.subscribe(ctx, t, id, foreign).next(t)
		if !ok || taskOf(t, first).ID != id {
			t.Errorf("after %q the stream begins with %q, want the task", foreign, first.Data)
		}
	}
}

// A client that shows the ETag of the card that it has is told that it is still true.
func knownCard(ctx context.Context, t *testing.T, curl, url string) {
	card := url + "/.well-known/agent-card.json"
	head := typed(ctx, t, curl, "--silent", "--show-error", "--fail", "--dump-header", "-", "--output", "/dev/null", card)
	etag := regexp.MustCompile(`(?im)^etag: *(\S+)`).FindStringSubmatch(head)
	if etag == nil {
		t.Fatalf("no ETag in:\n%s", head)
	}
	for tag, want := range map[string]string{etag[1]: "304 0", `"other"`: "200"} {
		out := typed(ctx, t, curl, "--silent", "--show-error", "--output", "/dev/null", "--write-out", "%{http_code} %{size_download}",
			"--header", fmt.Sprintf("If-None-Match: %s", tag), card)
		if !strings.HasPrefix(out, want) {
			t.Errorf("with the tag %s: %s, want %s", tag, out, want)
		}
	}
}
