package interop

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var playMatrix = flag.Bool("matrix", false, "play the matrix of docs/clients.md, and with -update write it; see make matrix")

// A mode is a way in which a client asks for a transfer and learns the result. Its program finds the
// server and its key in the environment; of {url}, {key} and {payee} it gets the values.
type mode struct {
	client string
	way    string // stream, blocking, poll or webhook
	agent  bool   // an agent with a model decides to ask
	argv   []string
	talks  string // the way of a talker, which reads its turns from the standard input
	next   string // in the answer to the next message of the session, "" without one
	proxy  bool   // the key is added on the way: the client does not send it with each request, or at all
	waits  bool   // the program comes back to its task after a restart of the server
	text   bool   // it asks for a payment whose result is text, and moves no money
	check  bool   // make check plays it
}

// A column is a set of circumstances for all modes.
type column struct {
	title    string
	delay    time.Duration // of the decision
	state    string        // of the waiting task
	restarts bool
	rejects  bool // not approves
}

var columns = []column{
	{title: "6 s", delay: 6 * time.Second, state: "working"},
	{title: "61 s", delay: 61 * time.Second, state: "working"},
	{title: "95 s", delay: 95 * time.Second, state: "working"},
	{title: "restart", delay: 6 * time.Second, state: "working", restarts: true},
	{title: "`auth_required`", delay: 6 * time.Second, state: "auth_required"},
	{title: "`input_required`", delay: 6 * time.Second, state: "input_required"},
}

// testWaiting has each client ask for a transfer that another person approves 6 s later, and some for
// one that is rejected. The programs that come back wait over a restart of the server.
func testWaiting(t *testing.T, p programs) {
	rejected := []string{"a2a-sdk for Python", "@a2a-js/sdk", "ADK for Python, `AgentTool`", "LangGraph tool"}
	for name, c := range map[string]column{
		"approved": {}, "approved after a restart": {restarts: true}, "rejected": {rejects: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.delay, c.state = 6*time.Second, "working"
			chosen := slices.DeleteFunc(modes(p), func(m mode) bool {
				if c.rejects {
					return m.way != "stream" || !slices.Contains(rejected, m.client)
				}
				return !m.check || m.waits != c.restarts
			})
			for i, seen := range playColumn(t, p, c, chosen) {
				if seen.cell != "result" {
					t.Errorf("%s: %s; its output:\n%s", chosen[i], seen.cell, seen.output)
				}
			}
		})
	}
}

// An ending is a client's turn as its user sees it.
type ending struct{ cell, output string }

// playColumn plays modes against a server of its own, as many at once as the machine takes.
func playColumn(t *testing.T, p programs, c column, modes []mode) []ending {
	t.Helper()
	b := startWaiting(t, p, c)
	ctx, cancel := context.WithCancel(t.Context())
	var deciding, playing, asking sync.WaitGroup
	deciding.Go(func() { b.decide(ctx, t) })
	seen, turns := make([]ending, len(modes)), make(chan struct{}, 4) // starting a client takes a processor
	for i, m := range modes {
		asking.Add(1)
		playing.Go(func() {
			turns <- struct{}{}
			asks := sync.OnceFunc(func() { <-turns; asking.Done() })
			defer asks()
			seen[i] = b.play(t, m, fmt.Sprintf("payee%d", i), asks)
		})
	}
	asking.Wait()
	if c.restarts {
		b.restart(t)
	}
	playing.Wait()
	cancel()
	deciding.Wait()
	return seen
}

// A waitingServer is the server of examples/clients with its keys, an agent and a person.
type waitingServer struct {
	*server
	column
	start      func()
	proxy      *tape
	model      string // the URL of the model
	agent, bob string // their keys
	program    string
	restarted  atomic.Bool

	mu    sync.Mutex
	turns map[string]*clientTurn // by payee
}

// A clientTurn is the turn of a client that asks for a transfer.
type clientTurn struct {
	asks    func()             // called when the transfer waits for bob
	end     context.CancelFunc // called 40 s after the decision
	decided bool
}

// payTool is a tool whose result is text, for clients that refuse a data part.
const payTool = `tools:
  - builtin: demo
  - command: pay
    description: Pays in words.
    run: [printf, "trans%s %s to %s", ferred, "{amount}", "{to}"]
    args: {amount: {type: integer}, to: {type: string}}
`

// startWaiting starts the server.
func startWaiting(t *testing.T, p programs, c column) *waitingServer {
	t.Helper()
	folder, data := t.TempDir(), t.TempDir()
	config := filepath.Join(folder, "a2a-server.yaml")
	content, err := os.ReadFile(examples("a2a-server.yaml"))
	if err == nil {
		err = os.WriteFile(config, append(content, "waiting_state: "+c.state+"\n"+payTool...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := &waitingServer{
		column: c, program: p.server, model: startModel(t), proxy: startTape(t),
		turns: map[string]*clientTurn{},
	}
	keys := filepath.Join(folder, "keys.yaml")
	b.agent = addKey(t, p, keys, "agent", "--kind", "service")
	b.bob = addKey(t, p, keys, "bob", "--role", "approver", "--config", config)
	b.server = start(t, p.server, data, "--config", config)
	b.start = func() { start(t, p.server, data, "--config", config, "--listen", strings.TrimPrefix(b.url, "http://")) }
	b.proxy.key = b.agent
	b.proxy.lead(t, b.server)
	return b
}

// restart kills the server and starts it again at the same address.
func (b *waitingServer) restart(t *testing.T) {
	t.Helper()
	b.kill(t)
	b.start()
	b.restarted.Store(true)
}

// decide has bob decide each transfer after the delay, as a process of its own, and right after a
// restart those that are due.
func (b *waitingServer) decide(ctx context.Context, t *testing.T) {
	due := map[string]time.Time{}
	for ; ctx.Err() == nil; wait(ctx, 200*time.Millisecond) {
		for _, item := range b.pending(ctx) {
			b.mu.Lock()
			turn := b.turns[item.Arguments.To]
			b.mu.Unlock()
			turn.asks()
			if due[item.ID].IsZero() {
				due[item.ID] = time.Now().Add(b.delay)
			}
			if time.Now().Before(due[item.ID]) || b.restarts && !b.restarted.Load() {
				continue
			}
			b.mu.Lock()
			turn.decided = true
			b.mu.Unlock()
			cmd := exec.CommandContext(ctx, b.program, "approvals", "approve", item.ID, "--url", b.url, "--yes", "--digest", item.Digest)
			switch {
			case b.rejects:
				cmd = b.curl(ctx, t, "reject", item)
			case b.restarts:
				cmd = b.curl(ctx, t, "approve", item)
			}
			cmd.Env = quiet(t, "A2A_SERVER_TOKEN="+b.bob, "BOB="+b.bob)
			if out, err := cmd.CombinedOutput(); ctx.Err() == nil && (err != nil || strings.Contains(string(out), `"error"`)) {
				t.Errorf("bob decides: %v\n%s", err, out)
			}
			time.AfterFunc(40*time.Second, turn.end)
		}
	}
}

// curl returns the command with which docs/clients.md decides.
func (b *waitingServer) curl(ctx context.Context, t *testing.T, decision string, item pendingTransfer) *exec.Cmd {
	document, err := os.ReadFile(filepath.Join(root, "docs", "clients.md"))
	if err != nil {
		t.Error(err)
	}
	line := regexp.MustCompile(`(?m)^curl .*"decision": "` + decision + `".*$`).FindString(string(document))
	line = strings.NewReplacer("http://127.0.0.1:8080", b.url, "/ID/", "/"+item.ID+"/", "DIGEST", item.Digest).Replace(line)
	return exec.CommandContext(ctx, "sh", "-c", line)
}

// pendingTransfer is an approval in the inbox.
type pendingTransfer struct {
	ID, Digest string
	Arguments  transfer
}

// pending returns bob's inbox, empty while the server is away.
func (b *waitingServer) pending(ctx context.Context) []pendingTransfer {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/api/v1/approvals?limit=100", nil)
	if err != nil {
		return nil
	}
	req.Header.Set("X-API-Key", b.bob)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var inbox struct{ Items []pendingTransfer }
	if json.NewDecoder(resp.Body).Decode(&inbox) != nil {
		return nil
	}
	return inbox.Items
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// play runs a client until its turn ends, and at most 40 s after the decision.
func (b *waitingServer) play(t *testing.T, m mode, payee string, asks func()) ending {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // others may be slow to ask
	defer cancel()
	turn := &clientTurn{asks: asks, end: cancel}
	b.mu.Lock()
	b.turns[payee] = turn
	b.mu.Unlock()
	url := b.url
	if m.proxy {
		url = b.proxy.url
	}
	fill := strings.NewReplacer("{url}", url, "{key}", b.agent, "{payee}", payee)
	argv := slices.Clone(m.argv)
	for i := range argv {
		argv[i] = fill.Replace(argv[i])
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = quiet(t, "SERVER="+url, "API_KEY="+b.agent, "OPENAI_BASE_URL="+b.model+"/v1", "OPENAI_API_KEY=none",
		"GOOGLE_GEMINI_BASE_URL="+b.model, "GOOGLE_API_KEY=none", "OPENAI_AGENTS_DISABLE_TRACING=1", "CREWAI_TRACING_ENABLED=false", "CREWAI_DISABLE_TELEMETRY=true")
	if m.talks != "" {
		cmd.Stdin = strings.NewReader(fill.Replace(fmt.Sprintf("{\"start\": %q}\n{\"say\": [\"/transfer_money amount=5 to={payee}\"]}\n", m.talks)))
	}
	raw, err := cmd.CombinedOutput()
	b.mu.Lock()
	decided := turn.decided
	b.mu.Unlock()
	output := string(raw)
	paid := slices.Contains(b.transfers(t), transfer{5, payee})
	cell := "nothing"
	switch {
	case strings.Contains(output, "transferred"), b.rejects && strings.Contains(output, "rejected: not this month"):
		cell = "result"
	case ctx.Err() != nil:
		cell = "waits on"
	case err == nil && !b.restarts && strings.Contains(output, "may transfer_money run?"):
		cell = "question"
	case err != nil || strings.Contains(output, "rror"):
		cell = "error"
	}
	if cell == "result" && !strings.Contains(output, fill.Replace(m.next)) {
		cell = "error" // its session is over
	}
	if cell == "error" && b.restarts && !m.waits {
		cell = "–"
	}
	if cell == "result" && (!decided || !m.text && paid == b.rejects) {
		t.Errorf("%s shows a result; decided %v, paid %v:\n%s", m, decided, paid, output)
	}
	return ending{cell, output}
}
