package conformance

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/internal/testserver"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/builtin"
	"a2a-server/tool/functiontool"
)

// patience turns a hang into a failure.
const patience = 60 * time.Second

// roleAuditor is a role that only a tool asks for.
const roleAuditor = "auditor"

// callers are the API keys of a world.
var callers = []apikey.Key{
	{ID: "alice", Tenant: "acme", Roles: []string{auth.RoleRequester}},
	{ID: "bob", Tenant: "acme", Roles: []string{auth.RoleRequester}},
	{ID: "ann", Tenant: "acme", Roles: []string{auth.RoleRequester, roleAuditor}},
	{ID: "ghost", Tenant: "acme"},
	{ID: "viewer", Tenant: "acme", Roles: []string{auth.RoleViewer}},
	{ID: "eve", Tenant: "umbrella", Roles: []string{auth.RoleRequester}},
}

// world is a server that runs, with authentication and tools that the cases steer.
type world struct {
	url       string
	http      *http.Client
	conn      *grpc.ClientConn
	approvals *engine.Approvals // of the whole tenant, beside A2A
	keys      map[string]string // by the ids of callers

	mu    sync.Mutex
	gates map[string]*gate
}

// gate steers the run of a tool.
type gate struct {
	entered chan struct{} // closed when the tool runs
	steps   chan string   // what it publishes; closed when it is to end
	left    chan struct{} // closed when the tool was canceled

	enter, leave func()
}

// gate returns the gate with a name.
func (w *world) gate(name string) *gate {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.gates[name]
	if g == nil {
		g = &gate{entered: make(chan struct{}), steps: make(chan string), left: make(chan struct{})}
		g.enter, g.leave = sync.OnceFunc(func() { close(g.entered) }), sync.OnceFunc(func() { close(g.left) })
		w.gates[name] = g
	}
	return g
}

// newWorld runs a server until the test ends.
func newWorld(t *testing.T, set map[string]string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{keys: map[string]string{}, gates: map[string]*gate{}}
	file := filepath.Join(dir, "keys.yaml")
	for _, k := range callers {
		key, err := apikey.Add(file, k, false)
		if err != nil {
			t.Fatal(err)
		}
		w.keys[k.ID] = key
	}
	all := map[string]string{
		"listen": "127.0.0.1:0", "grpc.listen": "127.0.0.1:0", "store": "memory", "data": dir, "auth.keys.file": file, "limits.auth_failures": "0",
		"agent.name": "tested", "agent.input_modes": "text/*,application/json,image/png", "limits.grace": "1s",
	}
	maps.Copy(all, set)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" }) // a case takes it away
	tools, err := w.tools(filepath.Join(dir, "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	log := &errorLog{t: t}
	s, err := testserver.New(testserver.Config{Set: all, Tools: tools, Log: zerolog.New(zerolog.SyncWriter(log)).Level(zerolog.ErrorLevel)})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	w.url, w.http = "http://"+s.Addr().String(), &http.Client{Transport: transport, Timeout: 2 * patience}
	w.approvals = s.Approvals()
	if w.conn, err = grpc.NewClient(s.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections() // the server waits for those on which nothing was sent
		_ = w.conn.Close()
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		log.end()
	})
	for until := time.Now().Add(patience); ; {
		resp, err := w.http.Get(w.url + "/readyz") //nolint:noctx // its client has a timeout
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return w
			}
		}
		if time.Now().After(until) {
			t.Fatal("the server did not become ready")
		}
	}
}

// errorLog fails a test that the server logs an error in: nothing that a client does is one.
type errorLog struct {
	t *testing.T

	mu   sync.Mutex
	over bool
}

// Write implements io.Writer.
func (l *errorLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.t.Errorf("the server logs %s", bytes.TrimSpace(line))
	}
	return len(line), nil
}

func (l *errorLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// gated are the arguments of the tools that a gate steers.
type gated struct {
	Gate string `json:"gate"`
}

type question struct {
	Question string `json:"question"`
}

type failing struct {
	Reason string `json:"reason"`
}

// tools returns the tools of the world, besides the built-in ones:
//   - drip publishes what its gate is given, and ends with it;
//   - hold waits for its gate, and publishes nothing before;
//   - ask asks its client, and answers with the response;
//   - login waits for an authorization that is given elsewhere;
//   - shapes returns values of all kinds;
//   - fail fails;
//   - audit is there for auditors.
func (w *world) tools(ledger string) ([]tool.Toolset, error) {
	own, err := builtin.New(builtin.Config{Ledger: ledger})
	if err != nil {
		return nil, err
	}
	drip, err := functiontool.NewStreaming(functiontool.Config{Name: "drip", Annotations: tool.Annotations{ReadOnly: true}}, w.drip)
	if err != nil {
		return nil, err
	}
	hold, err := functiontool.New(functiontool.Config{Name: "hold", Annotations: tool.Annotations{ReadOnly: true}}, w.hold)
	if err != nil {
		return nil, err
	}
	ask, err := functiontool.New(functiontool.Config{Name: "ask"}, func(ctx tool.Context, a question) (string, error) {
		again, ok := tool.Resumed(ctx)
		if !ok {
			return "", &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: a.Question}}}
		}
		return "the answer is " + string(again.Answers[0].Response), nil
	})
	if err != nil {
		return nil, err
	}
	login, err := functiontool.New(functiontool.Config{Name: "login"}, func(ctx tool.Context, _ struct{}) (string, error) {
		if _, ok := tool.Resumed(ctx); !ok {
			return "", &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskAuth, Hint: "log in"}}}
		}
		return "logged in", nil
	})
	if err != nil {
		return nil, err
	}
	shapes, err := functiontool.New(functiontool.Config{Name: "shapes"}, func(tool.Context, struct{}) (map[string]any, error) {
		return map[string]any{"list": []any{1, "two", nil, true}, "number": 1.5, "large": 9007199254740991, "nested": map[string]any{"a": map[string]any{}}}, nil
	})
	if err != nil {
		return nil, err
	}
	fail, err := functiontool.New(functiontool.Config{Name: "fail"}, func(_ tool.Context, a failing) (string, error) {
		return "", &failure{a.Reason}
	})
	if err != nil {
		return nil, err
	}
	audit, err := functiontool.New(functiontool.Config{Name: "audit"}, func(tool.Context, struct{}) (string, error) { return "audited", nil })
	if err != nil {
		return nil, err
	}
	forAuditors := tool.Filter(tool.NewToolset("audits", audit), func(ctx agent.ReadonlyContext, _ tool.Tool) bool {
		for _, role := range ctx.Roles() {
			if role == roleAuditor {
				return true
			}
		}
		return false
	})
	return []tool.Toolset{own, tool.NewToolset("tested", drip, hold, ask, login, shapes, fail), forAuditors}, nil
}

// failure is what fail fails with.
type failure struct{ reason string }

func (f *failure) Error() string { return f.reason }

func (w *world) drip(ctx tool.Context, a gated) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) {
		g := w.gate(a.Gate)
		g.enter()
		for {
			select {
			case step, ok := <-g.steps:
				if !ok || !yield(&tool.Result{Content: step, Streaming: true}, nil) {
					return
				}
			case <-ctx.Done():
				g.leave()
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

func (w *world) hold(ctx tool.Context, a gated) (string, error) {
	g := w.gate(a.Gate)
	g.enter()
	said := ""
	for {
		select {
		case step, ok := <-g.steps:
			if !ok {
				return said, nil
			}
			said += step
		case <-ctx.Done():
			g.leave()
			return "", context.Cause(ctx)
		}
	}
}
