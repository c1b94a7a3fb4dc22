package interop

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// driven is the SDK for Python or JavaScript, run by python/a2a-sdk/drive.py or
// js/drive.mjs: one process for all operations, since it takes a second to start.
//
// Each line of its input is a request, {"id": n, "operation": name, "request": the JSON of
// the operation's request}, or breaks one off: {"id": n, "break": true}. Operations run at
// the same time. Each line of the output belongs to one of them: {"id": n, "value": ...}
// for what the client returns, one for each event of a stream; {"id": n, "refused":
// {"reason", "detail", "message"}} for an error of the server; and at last {"id": n,
// "end": true}, with "crash" where the client itself has failed.
type driven struct {
	stdin io.WriteCloser

	mu      sync.Mutex
	next    int
	running map[int]*unread
	gone    chan struct{} // closed when the process says no more
}

// saidLine is one line of what the process says.
type saidLine struct {
	ID      int
	Value   json.RawMessage
	Refused *struct {
		Reason, Detail, Message string
	}
	End   bool
	Crash string
}

// unread is what the process has said of an operation and nobody has read yet. It
// is never in the way of that of another operation, however slow its reader is.
type unread struct {
	lines []saidLine
	more  chan struct{} // has an element when there are lines
}

// startDriven starts the process of a client at a URL. It is told to end, and must, when
// the test ends.
func startDriven(t *testing.T, p programs, url string, o official) *driven {
	t.Helper()
	command := map[string][]string{"js": {p.node, p.script}, "python": {p.python["a2a-sdk"], "python/a2a-sdk/drive.py"}}[o.of]
	cmd := exec.Command(command[0], append(command[1:], url, string(o.binding), string(o.version), o.key)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	c := &driven{running: map[int]*unread{}, gone: make(chan struct{})}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		c.stdin, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.gone)
		for lines := json.NewDecoder(bufio.NewReader(stdout)); ; {
			var line saidLine
			if lines.Decode(&line) != nil {
				return // Wait says why
			}
			c.mu.Lock()
			to := c.running[line.ID]
			to.lines = append(to.lines, line)
			c.mu.Unlock()
			select {
			case to.more <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		if err := c.stdin.Close(); err != nil {
			t.Errorf("end the client: %v", err)
		}
		<-c.gone
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client ended with %v:\n%s", err, stderr.String())
		}
	})
	return c
}

// begin begins an operation.
func (c *driven) begin(operation string, req any) (id int, lines *unread, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id, lines = c.next, &unread{more: make(chan struct{}, 1)}
	c.running[id] = lines
	if req == nil {
		req = struct{}{}
	}
	return id, lines, json.NewEncoder(c.stdin).Encode(map[string]any{"id": id, "operation": operation, "request": req})
}

// events yields what an operation returns, up to a refusal.
func (c *driven) events(ctx context.Context, operation string, req any) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		id, lines, err := c.begin(operation, req)
		if err != nil {
			yield(nil, err)
			return
		}
		// What ends early is broken off, and its last words are read all the same.
		going, over := true, ctx.Done()
		give := func(value json.RawMessage, err error) {
			if going && (!yield(value, err) || err != nil) {
				going = false
				c.breakOff(id)
			}
		}
		for {
			select {
			case <-lines.more:
			case <-over:
				over = nil
				give(nil, ctx.Err())
			case <-c.gone:
				give(nil, errors.New("the client is gone"))
				return
			}
			for _, line := range c.take(lines) {
				switch {
				case line.Crash != "":
					give(nil, fmt.Errorf("the client failed: %s", line.Crash))
				case line.Refused != nil:
					give(nil, &refusal{reason: line.Refused.Reason, detail: cmp.Or(line.Refused.Detail, untold), text: line.Refused.Message})
				case line.Value != nil:
					give(line.Value, nil)
				}
				if line.End {
					return
				}
			}
		}
	}
}

// take takes the lines that are there.
func (c *driven) take(from *unread) []saidLine {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := from.lines
	from.lines = nil
	return lines
}

// breakOff breaks an operation off. That of a process that is gone needs no end.
func (c *driven) breakOff(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.NewEncoder(c.stdin).Encode(map[string]any{"id": id, "break": true})
}

func (c *driven) one(ctx context.Context, operation string, req any) (json.RawMessage, error) {
	var last json.RawMessage
	for raw, err := range c.events(ctx, operation, req) {
		if err != nil {
			return nil, err
		}
		last = raw
	}
	return last, nil
}

func (c *driven) card(ctx context.Context) (*a2a.AgentCard, error) {
	return decodeCard(c.one(ctx, "card", nil))
}

func (c *driven) extended(ctx context.Context) (*a2a.AgentCard, error) {
	return decodeCard(c.one(ctx, "extended", nil))
}

func (c *driven) send(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return sent(c.one(ctx, "send", req))
}

func (c *driven) get(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return decode[a2a.Task](c.one(ctx, "get", req))
}

func (c *driven) list(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return decode[a2a.ListTasksResponse](c.one(ctx, "list", req))
}

func (c *driven) cancel(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return decode[a2a.Task](c.one(ctx, "cancel", req))
}

func (c *driven) stream(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return decoded(c.events(ctx, "stream", req))
}

func (c *driven) subscribe(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return decoded(c.events(ctx, "subscribe", req))
}

func (c *driven) setHook(ctx context.Context, req *a2a.PushConfig) (*a2a.PushConfig, error) {
	return decode[a2a.PushConfig](c.one(ctx, "set webhook", req))
}

func (c *driven) getHook(ctx context.Context, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return decode[a2a.PushConfig](c.one(ctx, "get webhook", req))
}

func (c *driven) listHooks(ctx context.Context, req *a2a.ListTaskPushConfigRequest) ([]*a2a.PushConfig, error) {
	page, err := decode[a2a.ListTaskPushConfigResponse](c.one(ctx, "list webhooks", req))
	if err != nil {
		return nil, err
	}
	return page.Configs, nil
}

func (c *driven) deleteHook(ctx context.Context, req *a2a.DeleteTaskPushConfigRequest) error {
	_, err := c.one(ctx, "delete webhook", req)
	return err
}

func (c *driven) move(ctx context.Context, url string) error {
	_, err := c.one(ctx, "move", map[string]string{"url": url})
	return err
}
