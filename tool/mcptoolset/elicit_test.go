package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// people answer what a held call asks.
type people struct {
	answer func(ctx context.Context, a tool.Question) (tool.Answer, error)

	mu   sync.Mutex
	asks []tool.Question
	errs []error
	now  int // who are asked at the moment
	most int
}

func (p *people) AskAndWait(ctx context.Context, a tool.Question) (tool.Answer, error) {
	p.mu.Lock()
	p.asks = append(p.asks, a)
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	answer, err := p.answer(ctx, a)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now--
	p.errs = append(p.errs, err)
	return answer, err
}

func (p *people) asked() []tool.Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asks
}

// ended returns what came of the questions that have ended.
func (p *people) ended() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errs
}

// yes answers each question with an empty form.
func yes() *people {
	return (&people{}).says(tool.Answer{State: tool.AnswerResponded, Response: json.RawMessage(`{}`)}, nil)
}

// paint calls the tool paint of a server that may ask.
func paint(ctx context.Context, t testing.TB, s func() *mcp.Server) *tool.Result {
	t.Helper()
	all, err := call(ctx, named(t, open(t, asking(over(t, s))), "paint"), map[string]any{"thing": "wall"})
	if err != nil || len(all) != 1 {
		t.Fatalf("call = %v, %v", all, err)
	}
	return all[0]
}

// note returns what a result says about declined questions.
func note(r *tool.Result) string {
	text, _ := r.Metadata["mcp"].(string)
	return text
}

// says answers at once.
func (p *people) says(a tool.Answer, err error) *people {
	p.answer = func(context.Context, tool.Question) (tool.Answer, error) { return a, err }
	return p
}

// wait never answers.
func (p *people) wait() *people {
	p.answer = func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		<-ctx.Done()
		return tool.Answer{}, context.Cause(ctx)
	}
	return p
}

func (p *people) ctx(t testing.TB) context.Context {
	return tool.ContextWithCallValues(t.Context(), &tool.CallValues{Asker: p})
}

// older is a server of the version before multi-round-trip requests, which asks while a
// call runs.
var older = &mcp.ServerOptions{SupportedProtocolVersions: []string{"2025-11-25"}}

// painting is a server with the tool paint.
func painting(o *mcp.ServerOptions, h handler) func() *mcp.Server {
	bounded := func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // its cancellation may be lost when the session ends at once
		defer cancel()
		return h(ctx, r)
	}
	return func() *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "painting", Version: "1"}, o)
		s.AddTool(&mcp.Tool{Name: "paint", InputSchema: object("thing")}, bounded)
		return s
	}
}

// eliciting is a server whose tool asks while it runs, and says what it was answered.
func eliciting(o *mcp.ServerOptions, p *mcp.ElicitParams) func() *mcp.Server {
	return painting(o, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, p)
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(res.Content)
		return text(res.Action + " " + string(content)), err
	})
}

func properties(p map[string]any, required ...any) map[string]any {
	s := map[string]any{"type": "object"}
	if p != nil {
		s["properties"] = p
	}
	if required != nil {
		s["required"] = required
	}
	return s
}

// A question that a server asks while a call runs holds the call until a person has
// answered.
func TestElicit(t *testing.T) {
	t.Parallel()
	form := &mcp.ElicitParams{Message: "Which colour\u202e?", RequestedSchema: properties(map[string]any{
		"colour": map[string]any{"type": "string"}, "coats": map[string]any{"type": "integer"},
	}, "colour")}
	for name, tc := range map[string]struct {
		asks   *mcp.ElicitParams
		answer tool.Answer
		err    error
		want   string
		note   string
	}{
		"answered":  {form, tool.Answer{State: tool.AnswerResponded, Response: json.RawMessage(`{"colour":"red","coats":2}`)}, nil, `accept {"coats":2,"colour":"red"}`, ""},
		"rejected":  {form, tool.Answer{State: tool.AnswerRejected, Reason: "no paint"}, nil, "decline null", ""},
		"expired":   {form, tool.Answer{State: tool.AnswerExpired}, nil, "cancel null", ""},
		"no form":   {form, tool.Answer{State: tool.AnswerResponded, Response: json.RawMessage(`"red"`)}, nil, "decline null", ""},
		"approved":  {form, tool.Answer{State: tool.AnswerApproved}, nil, "decline null", ""},
		"nobody":    {form, tool.Answer{}, fmt.Errorf("%w: too many wait", tool.ErrNoAnswer), "decline null", "too many wait"},
		"gone":      {form, tool.Answer{}, context.Canceled, "cancel null", ""},
		"no schema": {&mcp.ElicitParams{Message: "Sure?"}, tool.Answer{State: tool.AnswerResponded, Response: json.RawMessage(`{}`)}, nil, "accept null", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := (&people{}).says(tc.answer, tc.err)
			got := paint(p.ctx(t), t, eliciting(older, tc.asks))
			if got.Content != tc.want {
				t.Errorf("the server was answered %q, want %q", got.Content, tc.want)
			}
			if note := note(got); (tc.note == "") != (note == "") || !strings.Contains(note, tc.note) {
				t.Errorf("note = %q, want %q in it", note, tc.note)
			}
			asks := p.asked()
			if len(asks) != 1 || asks[0].Kind != tool.AskForm || asks[0].Schema == nil {
				t.Fatalf("asks = %+v, want one form", asks)
			}
			if want := `MCP server files, tool paint asks: Which colour\u202e?`; tc.asks == form && asks[0].Hint != want {
				t.Errorf("hint = %q, want %q", asks[0].Hint, want)
			}
		})
	}
}

// What nobody is asked is declined, and the result says why: links, forms that are too
// large or cannot be checked, and everything in a context in which nobody can be asked.
func TestElicitDeclines(t *testing.T) {
	t.Parallel()
	huge := map[string]any{}
	for i := range 1000 {
		huge[fmt.Sprintf("property_%d", i)] = map[string]any{"type": "string", "description": strings.Repeat("x", 50)}
	}
	p := yes()
	for name, tc := range map[string]struct {
		asks *mcp.ElicitParams
		ctx  context.Context //nolint:containedctx // of the call
		note string
	}{
		"huge":   {&mcp.ElicitParams{Message: "?", RequestedSchema: properties(huge)}, p.ctx(t), "too large"},
		"nobody": {&mcp.ElicitParams{Message: "?", RequestedSchema: properties(nil)}, t.Context(), "only a running call"},
		"hidden name": {&mcp.ElicitParams{Message: "?", RequestedSchema: properties(map[string]any{"a\u202e": map[string]any{"type": "string"}})},
			p.ctx(t), `name "a\u202e" has invisible characters`},
		"hidden choice": {&mcp.ElicitParams{Message: "?", RequestedSchema: properties(map[string]any{"a": map[string]any{"type": "string", "enum": []any{"yes", "yes\u200b"}}})},
			p.ctx(t), `value "yes\u200b" has invisible characters`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := paint(tc.ctx, t, eliciting(older, tc.asks))
			if note := note(got); got.Content != "decline null" || !strings.Contains(note, tc.note) || len(note) > 500 {
				t.Errorf("note = %q, want %q in it", note, tc.note)
			}
		})
	}
	t.Cleanup(func() {
		if asks := p.asked(); len(asks) > 0 {
			t.Errorf("people were asked %+v", asks)
		}
	})
}

// Requests that are not what the protocol says are refused and asked of nobody, and texts are
// shortened and show what is invisible in them; whatever they are, the connection and the process
// survive.
func TestElicitHostile(t *testing.T) {
	t.Parallel()
	for _, params := range []string{
		`{}`, `null`, `[]`, `7`, `{"message":7}`, `{"message":"?","requestedSchema":7}`, `{"message":"?","requestedSchema":{"type":"array"}}`,
		`{"message":"?","mode":"url","url":"https://evil.example","elicitationId":"1"}`, `{"message":"?","url":"https://evil.example"}`, `{"mode":"other","message":"?"}`,
		`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"object","properties":{}}}}}`,
		`{"message":"?","requestedSchema":{"type":"object","properties":{"a":null}}}`,
		`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}}`,
		`{"message":"?","requestedSchema":{"$ref":"https://evil.example/schema"}}`,
		`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}}`,
		`{"message":"` + strings.Repeat("\u200b", 100_000) + `","requestedSchema":{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("\u202e", 3000) + `"}}}}`,
	} {
		t.Run(params[:min(len(params), 100)], func(t *testing.T) {
			t.Parallel()
			config := calls(t, echoTool, func(s *script, m message) bool {
				s.say(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":%s}`, params)
				s.in.Scan()
				accepted := strings.Contains(s.in.Text(), `"accept"`)
				s.reply(m, "%t", accepted)
				return true
			})
			p := (&people{}).says(tool.Answer{State: tool.AnswerRejected}, nil)
			set := open(t, asking(config))
			for range 2 { // the second on the same connection
				all, err := call(p.ctx(t), named(t, set, "echo"), nil)
				if err != nil || len(all) != 1 || all[0].Content != "false" {
					t.Fatalf("call = %v, %v", all, err)
				}
			}
			for _, a := range p.asked() {
				raw, err := json.Marshal(a)
				if err != nil || len(a.Hint) > 2000 || len(raw) > 8<<10 || strings.Contains(string(raw), "evil") || strings.ContainsAny(string(raw), "\u200b\u202e") {
					t.Errorf("people were asked %d bytes: %.300s; %v", len(raw), raw, err)
				}
			}
		})
	}
}

// A question is over when the server takes it back, when its call ends, and when the
// connection does.
func TestElicitEnds(t *testing.T) {
	t.Parallel()
	elicit := &mcp.ElicitParams{Message: "?", RequestedSchema: properties(nil)}
	pipe := over
	overHTTP := func(t testing.TB, s func() *mcp.Server) mcptoolset.Config { return web(t, streamable(t, s())) }
	play := func(t *testing.T, by func(testing.TB, func() *mcp.Server) mcptoolset.Config, h func(ctx context.Context, r *mcp.CallToolRequest, p *people) (*mcp.CallToolResult, error)) (*people, tool.StreamingTool) {
		t.Helper()
		p := (&people{}).wait()
		config := by(t, painting(older, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return h(ctx, r, p) }))
		return p, named(t, open(t, asking(config)), "paint")
	}
	over := func(t *testing.T, p *people) {
		t.Helper()
		eventually(t, "the question is over", func() bool { return len(p.ended()) == 1 })
		if err := p.ended()[0]; err == nil {
			t.Error("the question has an answer")
		}
	}
	for name, by := range map[string]func(testing.TB, func() *mcp.Server) mcptoolset.Config{"pipe": pipe, "HTTP": overHTTP} {
		t.Run("taken back, "+name, func(t *testing.T) {
			t.Parallel()
			door := make(chan struct{})
			p, paint := play(t, by, func(ctx context.Context, r *mcp.CallToolRequest, p *people) (*mcp.CallToolResult, error) {
				short, cancel := context.WithCancel(ctx)
				defer cancel()
				go func() {
					eventually(t, "people are asked", func() bool { return len(p.asked()) == 1 })
					cancel()
				}()
				_, err := r.Session.Elicit(short, elicit)
				<-door // the call still runs
				return text(fmt.Sprint(err != nil)), nil
			})
			go func() {
				defer close(door)
				over(t, p)
			}()
			all, err := call(p.ctx(t), paint, nil)
			if err != nil || all[0].Content != "true" {
				t.Errorf("call = %v, %v", all, err)
			}
		})
	}
	t.Run("the call returns", func(t *testing.T) {
		t.Parallel()
		p, paint := play(t, pipe, func(_ context.Context, r *mcp.CallToolRequest, p *people) (*mcp.CallToolResult, error) {
			go func() { _, _ = r.Session.Elicit(context.Background(), elicit) }()
			eventually(t, "people are asked", func() bool { return len(p.asked()) == 1 })
			return text("done"), nil
		})
		all, err := call(p.ctx(t), paint, nil)
		if err != nil || all[0].Content != "done" {
			t.Errorf("call = %v, %v", all, err)
		}
		over(t, p)
	})
	t.Run("the call is canceled", func(t *testing.T) {
		t.Parallel()
		door := make(chan struct{})
		defer close(door)
		p, paint := play(t, pipe, func(ctx context.Context, r *mcp.CallToolRequest, _ *people) (*mcp.CallToolResult, error) {
			_, err := r.Session.Elicit(ctx, elicit)
			<-door // it answers later than its caller waits
			return nil, err
		})
		ctx, cancel := context.WithCancel(p.ctx(t))
		go func() {
			eventually(t, "people are asked", func() bool { return len(p.asked()) == 1 })
			cancel()
		}()
		if _, err := call(ctx, paint, nil); !errors.Is(err, tool.ErrOutcomeUnknown) {
			t.Errorf("call = %v, want that its outcome is unknown", err)
		}
		over(t, p)
	})
	t.Run("the connection ends", func(t *testing.T) {
		t.Parallel()
		p := (&people{}).wait()
		config := calls(t, echoTool, func(s *script, _ message) bool {
			s.say(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Sure?"}}`)
			eventually(t, "people are asked", func() bool { return len(p.asked()) == 1 })
			_ = s.closed.Close()
			return false
		})
		if _, err := call(p.ctx(t), named(t, open(t, asking(config)), "echo"), nil); !errors.Is(err, tool.ErrOutcomeUnknown) {
			t.Errorf("call = %v, want that its outcome is unknown", err)
		}
		over(t, p)
	})
}

// A server that asks a lot is asked one question at a time, and only so many.
func TestElicitMany(t *testing.T) {
	t.Parallel()
	const many = 20 // fewer than the connection allows without an answer
	var accepted atomic.Int64
	p := yes()
	got := paint(p.ctx(t), t, painting(older, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var wg sync.WaitGroup
		for range many {
			wg.Go(func() {
				if res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: properties(nil)}); err == nil && res.Action == "accept" {
					accepted.Add(1)
				}
			})
		}
		wg.Wait()
		return text("done"), nil
	}))
	if n := len(p.asked()); n != 16 || accepted.Load() != 16 || p.most != 1 {
		t.Errorf("%d questions were asked, %d at once, and %d accepted; want 16, one, 16", n, p.most, accepted.Load())
	}
	if note := note(got); !strings.Contains(note, "limit") {
		t.Errorf("note = %q, want the limit in it", note)
	}
}

// A question that comes while no call runs is declined.
func TestElicitWithoutACall(t *testing.T) {
	t.Parallel()
	answered, over := make(chan string, 1), make(chan struct{})
	config := calls(t, echoTool, func(s *script, m message) bool {
		s.reply(m, "done")
		<-over
		s.say(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Sure?"}}`)
		s.in.Scan()
		answered <- s.in.Text()
		return true
	})
	p := yes()
	if all, err := call(p.ctx(t), named(t, open(t, asking(config)), "echo"), nil); err != nil || all[0].Content != "done" {
		t.Fatalf("call = %v, %v", all, err)
	}
	close(over)
	if got := <-answered; !strings.Contains(got, `"decline"`) || len(p.asked()) > 0 {
		t.Errorf("the server got %s, and people were asked %v", got, p.asked())
	}
}

// A call that ended without an answer may still ask. Such a question reaches nobody, and
// above all not those who wait for the next call of the connection.
func TestElicitOfAnEndedCall(t *testing.T) {
	t.Parallel()
	var first atomic.Bool
	running := make(chan struct{})
	config := scripted(t, func(n int, s *script) {
		for {
			m, ok := s.answer(echoTool)
			if !ok {
				return
			}
			if !first.Swap(true) {
				close(running)
				continue
			}
			if n == 1 {
				s.say(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Delete what the first call is about?"}}`)
				s.in.Scan()
			}
			s.reply(m, "connection %d", n)
		}
	})
	config.Ask, config.Retry = true, time.Hour
	set := open(t, config)
	echo := named(t, set, "echo")
	ctx, cancel := context.WithCancel(t.Context())
	unknown := make(chan error)
	go func() {
		_, err := call(ctx, echo, nil)
		unknown <- err
	}()
	<-running
	p := yes()
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			all, err := call(p.ctx(t), echo, nil)
			if err != nil || len(all) != 1 || all[0].Content != "connection 2" {
				t.Errorf("a call that waited = %v, %v; want connection 2", all, err)
			}
		})
	}
	eventually(t, "the others wait", func() bool { return set.Status().Calls == 3 })
	cancel()
	if err := <-unknown; !errors.Is(err, tool.ErrOutcomeUnknown) {
		t.Errorf("the first call = %v, want that its outcome is unknown", err)
	}
	others.Wait()
	if asked := p.asked(); len(asked) > 0 {
		t.Errorf("people were asked %+v", asked)
	}
	if s := set.Status(); s.Err != nil || !s.Connected {
		t.Errorf("status = %+v, want that the server is up", s)
	}
}
