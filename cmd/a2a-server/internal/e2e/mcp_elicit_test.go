package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// painter is an MCP server that asks while its calls run.
type painter struct {
	mu    sync.Mutex
	wires []io.Closer // to it
	calls int
}

// server returns the server: paint asks as often as it is told, and says what it was
// answered.
func (p *painter) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "painter", Version: "1"}, &mcp.ServerOptions{SupportedProtocolVersions: []string{"2025-11-25"}})
	s.AddTool(&mcp.Tool{
		Name: "paint", Description: "paints",
		InputSchema: map[string]any{"type": "object", "properties": map[string]any{"times": map[string]any{"type": "integer"}}},
	}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p.mu.Lock()
		p.calls++
		p.mu.Unlock()
		var args struct{ Times int }
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		var said []string
		for i := range max(args.Times, 1) {
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: fmt.Sprintf("Colour %d?", i+1), RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"colour": map[string]any{"type": "string", "enum": []any{"red", "blue"}}}, "required": []any{"colour"},
			}})
			if err != nil {
				return nil, err
			}
			said = append(said, fmt.Sprint(res.Action, res.Content))
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(said, ", ")}}}, nil
	})
	return s
}

func (p *painter) ran() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// die ends all connections.
func (p *painter) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.wires {
		_ = w.Close()
	}
}

// piped is the configuration of the server over a stream of lines, as stdio is.
func (p *painter) piped(t *testing.T) mcptoolset.Config {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	return mcptoolset.Config{Dial: func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		session, err := p.server().Connect(ctx, &mcp.IOTransport{Reader: theirs, Writer: theirs}, nil)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.wires = append(p.wires, theirs)
		p.mu.Unlock()
		serving.Go(func() { _ = session.Wait() })
		return ours, nil
	}}
}

// web is the configuration of the server over HTTP.
func (p *painter) web(t *testing.T) mcptoolset.Config {
	t.Helper()
	return mcptoolset.Config{HTTP: &mcptoolset.HTTP{URL: overHTTP(t, p.server()), Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}}
}

// asks runs a server with the tool paint, whose questions people answer.
func asks(t *testing.T, c mcptoolset.Config) (*a2aservertest.Server, *mcptoolset.Toolset) {
	t.Helper()
	set := art(t, c)
	return a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{set}}.Must(t)), set
}

// art is the toolset of the server.
func art(t *testing.T, c mcptoolset.Config) *mcptoolset.Toolset {
	t.Helper()
	c.Name, c.Only, c.Ask, c.Retry = "art", []string{"*"}, true, time.Millisecond
	set, err := mcptoolset.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

// question returns the one that a task asks, which holds its call.
func question(t *testing.T, s *a2aservertest.Server, of *a2a.Task, text string) approval.Approval {
	t.Helper()
	pending := s.Pending(of)
	if of.Status.State != a2a.TaskStateInputRequired || len(pending) != 1 {
		t.Fatalf("the task is %s and asks %+v, want one question", of.Status.State, pending)
	}
	a := pending[0]
	if !a.Held || a.Kind != approval.KindQuestion || a.Deadline == nil || a.Hint != "MCP server art, tool paint asks: "+text {
		t.Fatalf("approval = %+v, want a question that holds its call: %s", a, text)
	}
	return a
}

func respond(t *testing.T, s *a2aservertest.Server, id string, verb approval.DecisionType, response string) error {
	t.Helper()
	return s.Approvals().Decide(t.Context(), auth.Anonymous(), approval.Decision{ID: id, Type: verb, Response: json.RawMessage(response)})
}

// What an MCP server asks while a call runs becomes a question of the task, and the call
// continues with the answer.
func TestElicitedQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*painter, *testing.T) mcptoolset.Config{"stream": (*painter).piped, "HTTP": (*painter).web} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &painter{}
			s, _ := asks(t, config(p, t))
			got := s.Send("/paint times=3")
			first := question(t, s, got, "Colour 1?")
			for verb, response := range map[approval.DecisionType]string{approval.Respond: `{"colour":"green"}`, approval.Approve: "", approval.Edit: ""} {
				if err := respond(t, s, first.ID, verb, response); err == nil {
					t.Errorf("%s %s was accepted", verb, response)
				}
			}
			if err := respond(t, s, first.ID, approval.Respond, `{"colour":"red"}`); err != nil {
				t.Fatal(err)
			}
			second := next(t, s, got.ID, first.ID)
			if err := respond(t, s, question(t, s, s.Get(got.ID), "Colour 2?").ID, approval.Reject, ""); err != nil {
				t.Fatal(err)
			}
			next(t, s, got.ID, second)
			question(t, s, s.Get(got.ID), "Colour 3?")
			s.Advance(time.Hour + time.Second)
			if got = s.Wait(got.ID, a2a.TaskStateCompleted); !strings.Contains(s.Text(got), "acceptmap[colour:red], declinemap[], cancelmap[]") {
				t.Errorf("the server was answered %s", s.Text(got))
			}
			if n := p.ran(); n != 1 {
				t.Errorf("the tool ran %d times, want once", n)
			}
		})
	}
}

// next waits for a question other than the last one, and returns its id.
func next(t *testing.T, s *a2aservertest.Server, id a2a.TaskID, last string) string {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		if pending := s.Pending(s.Wait(id, a2a.TaskStateInputRequired)); len(pending) == 1 && pending[0].ID != last {
			return pending[0].ID
		}
	}
	t.Fatalf("task %s asks nothing else than %s", id, last)
	return ""
}

// An answer to a question of the server is no approval: neither of the call that asks nor of
// the next.
func TestElicitedAnswerApprovesNothing(t *testing.T) {
	t.Parallel()
	p := &painter{}
	config := p.piped(t)
	config.Approve = []string{"*"}
	s, _ := asks(t, config)
	for i := range 2 {
		got := s.Send("/paint")
		if pending := s.Pending(got); len(pending) != 1 || pending[0].Kind != approval.KindCall || p.ran() != i {
			t.Fatalf("the task asks %+v, and the tool ran %d times; want that the call asks first", pending, p.ran())
		}
		call := s.Pending(got)[0].ID
		s.Approve(got)
		got = s.Wait(got.ID, a2a.TaskStateInputRequired)
		next(t, s, got.ID, call)
		if err := respond(t, s, question(t, s, s.Get(got.ID), "Colour 1?").ID, approval.Respond, `{"colour":"blue"}`); err != nil {
			t.Fatal(err)
		}
		s.Wait(got.ID, a2a.TaskStateCompleted)
	}
}

// A server that dies while a person is asked leaves a call whose outcome is unknown: the
// question is closed, and a person is asked about that.
func TestElicitingServerDies(t *testing.T) {
	t.Parallel()
	p := &painter{}
	s, _ := asks(t, p.piped(t))
	got := s.Send("/paint")
	asked := question(t, s, got, "Colour 1?")
	p.die()
	next(t, s, got.ID, asked.ID)
	if pending := s.Pending(got); pending[0].Kind != approval.KindOutcome || pending[0].Held {
		t.Errorf("the task asks %+v, want the outcome", pending)
	}
	err := respond(t, s, asked.ID, approval.Respond, `{"colour":"red"}`)
	if refused, ok := errors.AsType[*approval.Error](err); !ok || refused.Reason != approval.ReasonConflict {
		t.Errorf("a late answer = %v, want a conflict", err)
	}
	if n := p.ran(); n != 1 {
		t.Errorf("the tool ran %d times, want once", n)
	}
}

// Tasks share the server: while one is asked the others wait, and each is asked its own
// question. One that is canceled makes room for the next.
func TestElicitingServerIsShared(t *testing.T) {
	t.Parallel()
	p := &painter{}
	s, set := asks(t, p.piped(t))
	first := s.Send("/paint")
	asked := question(t, s, first, "Colour 1?")
	sent := make(chan *a2a.Task, 1)
	go func() { sent <- s.Send("/paint") }()
	for set.Status().Calls < 2 {
		time.Sleep(time.Millisecond) // nothing tells when the second waits
	}
	if n := p.ran(); n != 1 {
		t.Errorf("%d calls run, want one", n)
	}
	_ = post(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, s.URL+"/tasks/"+string(first.ID)+":cancel", "{}").Body.Close()
	s.Wait(first.ID, a2a.TaskStateCanceled)
	second := <-sent
	own := question(t, s, second, "Colour 1?")
	if own.Task != string(second.ID) || own.Task == asked.Task {
		t.Errorf("the second task asks for %s", own.Task)
	}
	if err := respond(t, s, asked.ID, approval.Respond, `{"colour":"blue"}`); err == nil {
		t.Error("the question of a canceled task was answered")
	}
	if err := respond(t, s, own.ID, approval.Respond, `{"colour":"red"}`); err != nil {
		t.Fatal(err)
	}
	if got := s.Text(s.Wait(second.ID, a2a.TaskStateCompleted)); !strings.Contains(got, "acceptmap[colour:red]") {
		t.Errorf("the second call was answered %s", got)
	}
}

// A server that is stopped while a call is held closes the question, and the next one never
// sends the call again by itself.
func TestElicitedQuestionOfAStoppedServer(t *testing.T) {
	t.Parallel()
	p := &painter{}
	config, data := p.piped(t), map[string]string{"store": "bolt", "data": t.TempDir()}
	run := func() *a2aservertest.Server {
		return a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{art(t, config)}, Set: data}.Must(t))
	}
	s := run()
	got := s.Send("/paint")
	asked := question(t, s, got, "Colour 1?")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = run()
	err := respond(t, s, asked.ID, approval.Respond, `{"colour":"red"}`)
	if refused, ok := errors.AsType[*approval.Error](err); !ok || refused.Reason != approval.ReasonConflict {
		t.Errorf("a late answer = %v, want a conflict", err)
	}
	// It was told to end before it was cut off, so it may have.
	if got = s.Get(got.ID); got.Status.State != a2a.TaskStateCompleted {
		next(t, s, got.ID, asked.ID)
		if pending := s.Pending(got); pending[0].Kind != approval.KindOutcome {
			t.Errorf("the task asks %+v, want the outcome", pending)
		}
	}
	if n := p.ran(); n != 1 {
		t.Errorf("the tool ran %d times, want once", n)
	}
}
