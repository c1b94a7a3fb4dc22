package interop

import (
	"bufio"
	"bytes"
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
	"github.com/google/go-cmp/cmp"
)

// pyClient is the Python SDK, run by python/a2a-sdk/drive.py: one process for all
// operations, since it takes a second to start.
type pyClient struct {
	stdin io.WriteCloser

	mu      sync.Mutex
	next    int
	running map[int]*pyLines
	gone    chan struct{} // closed when the process says no more
}

// pyLine is one line of what the process says.
type pyLine struct {
	ID      int
	Value   json.RawMessage
	Refused *struct {
		Reason, Message string
		Data            map[string]any
	}
	End   bool
	Crash string
}

// pyLines are what the process has said of an operation and nobody has read yet. They
// are never in the way of those of another operation, however slow their reader is.
type pyLines struct {
	lines []pyLine
	more  chan struct{} // has an element when there are lines
}

// startPython starts the process. It is told to end, and must, when the test ends.
func startPython(t *testing.T, p programs, url string, binding a2a.TransportProtocol, version a2a.ProtocolVersion, key string) *pyClient {
	t.Helper()
	cmd := exec.Command(p.python["a2a-sdk"], "python/a2a-sdk/drive.py", url, string(binding), string(version), key)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	c := &pyClient{running: map[int]*pyLines{}, gone: make(chan struct{})}
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
			var line pyLine
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
			t.Errorf("end the Python client: %v", err)
		}
		<-c.gone
		if err := cmd.Wait(); err != nil {
			t.Errorf("the Python client ended with %v:\n%s", err, stderr.String())
		}
	})
	return c
}

// begin begins an operation.
func (c *pyClient) begin(operation string, req any) (id int, lines *pyLines, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id, lines = c.next, &pyLines{more: make(chan struct{}, 1)}
	c.running[id] = lines
	if req == nil {
		req = struct{}{}
	}
	return id, lines, json.NewEncoder(c.stdin).Encode(map[string]any{"id": id, "operation": operation, "request": req})
}

// events yields what an operation returns, up to a refusal.
func (c *pyClient) events(ctx context.Context, operation string, req any) iter.Seq2[json.RawMessage, error] {
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
				give(nil, errors.New("the Python client is gone"))
				return
			}
			for _, line := range c.take(lines) {
				switch {
				case line.Crash != "":
					give(nil, fmt.Errorf("the Python client failed: %s", line.Crash))
				case line.Refused != nil:
					give(nil, &refusal{reason: line.Refused.Reason, detail: pyDetail(line.Refused.Data), text: line.Refused.Message})
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
func (c *pyClient) take(from *pyLines) []pyLine {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := from.lines
	from.lines = nil
	return lines
}

// breakOff breaks an operation off. That of a process that is gone needs no end.
func (c *pyClient) breakOff(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.NewEncoder(c.stdin).Encode(map[string]any{"id": id, "break": true})
}

// pyDetail returns this server's own name of a refusal: the client hands on the
// metadata of the protocol's reason, which repeat it.
func pyDetail(data map[string]any) string {
	if reason, ok := data["reason"].(string); ok {
		return reason
	}
	return untold
}

// testPythonTranscripts records what the client sends and gets on each binding: a
// transfer is asked for in a stream, and decided by the extension.
func testPythonTranscripts(t *testing.T, p programs) {
	for name, binding := range map[string]a2a.TransportProtocol{"jsonrpc": a2a.TransportProtocolJSONRPC, "rest": a2a.TransportProtocolHTTPJSON} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := deadline(t)
			defer cancel()
			tape, s := recorded(t, p)
			c := startPython(t, p, tape.url, binding, a2a.Version, "")
			for _, conversation := range conversations {
				if conversation.typed {
					continue
				}
				before := len(s.transfers(t))
				tr := &transcript{tape: tape}
				var told story
				for _, step := range conversation.turns {
					tr.person(step.String())
					if step.Say != nil {
						m := a2a.NewMessage(a2a.MessageRoleUser)
						for _, said := range step.Say {
							m.Parts = append(m.Parts, a2a.NewTextPart(said))
						}
						told.tell(t, c.stream(ctx, &a2a.SendMessageRequest{Message: m}))
					} else {
						task := get(ctx, t, c, told.task)
						var decisions []any
						for i, q := range questions(t, task) {
							verb := map[bool]string{true: "approve", false: "reject"}[step.Answer[i]]
							decisions = append(decisions, decision(q.ID, verb, map[string]any{"digest": q.Digest}))
						}
						send(ctx, t, c, answer(task, decisions...))
					}
					tr.wire(t)
				}
				tr.check(t, "a2a-sdk-python", conversation.name+"-"+name)
				if diff := cmp.Diff(conversation.runs, s.transfers(t)[before:]); diff != "" {
					t.Errorf("%s: transfers (-want +got):\n%s", conversation.name, diff)
				}
			}
		})
	}
}

func (c *pyClient) one(ctx context.Context, operation string, req any) (json.RawMessage, error) {
	var last json.RawMessage
	for raw, err := range c.events(ctx, operation, req) {
		if err != nil {
			return nil, err
		}
		last = raw
	}
	return last, nil
}

func (c *pyClient) card(ctx context.Context) (*a2a.AgentCard, error) {
	return decodeCard(c.one(ctx, "card", nil))
}

func (c *pyClient) extended(ctx context.Context) (*a2a.AgentCard, error) {
	return decodeCard(c.one(ctx, "extended", nil))
}

func (c *pyClient) send(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return sent(c.one(ctx, "send", req))
}

func (c *pyClient) get(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return decode[a2a.Task](c.one(ctx, "get", req))
}

func (c *pyClient) list(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return decode[a2a.ListTasksResponse](c.one(ctx, "list", req))
}

func (c *pyClient) cancel(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return decode[a2a.Task](c.one(ctx, "cancel", req))
}

func (c *pyClient) stream(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return decoded(c.events(ctx, "stream", req))
}

func (c *pyClient) subscribe(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return decoded(c.events(ctx, "subscribe", req))
}
