// Package e2e_test tries the server as the program assembles it, in this process: configuration,
// ways in, rights, limits, reloads. The program itself is started by the tests of cmd/a2a-server,
// what all bindings have in common is in internal/conformance, kills are in internal/kinds and
// internal/faults.
package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	a2aserver "a2a-server"
	"a2a-server/auth/apikey"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(serveMCP())
	}
	// Tests mostly wait, for answers and for time limits: more of them run side by side than there
	// are processors, unless -parallel says otherwise.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err) // it is a flag of every test program
	}
	// Servers are short-lived and small: most collections would find little.
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}

// instance is one server that runs.
type instance struct {
	url    string
	server *a2aserver.Server
	client *http.Client
	stop   func() error // ends it and returns what Run returned, each time
	ended  <-chan error // what Run returned, when nobody stopped it
	log    *logs
}

// logs keeps the lines of a log, and shows them with the test's. What is still under way when
// the test has ended, such as a request to an issuer that hangs, may log later.
type logs struct {
	t     *testing.T
	mu    sync.Mutex
	lines []map[string]any
	over  bool // the test has ended
}

func newLogs(t *testing.T) *logs {
	t.Helper()
	l := &logs{t: t}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = true
	})
	return l
}

func (l *logs) Write(p []byte) (int, error) {
	var line map[string]any
	err := json.Unmarshal(p, &line)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return len(p), nil
	}
	if err != nil {
		l.t.Errorf("the log has a line that is no JSON: %q", p)
	}
	l.lines = append(l.lines, line)
	l.t.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

// find returns the lines with a message.
func (l *logs) find(message string) []map[string]any {
	return slices.DeleteFunc(l.all(), func(line map[string]any) bool { return line["message"] != message })
}

// saying returns the lines whose message has a part.
func (l *logs) saying(part string) []map[string]any {
	return slices.DeleteFunc(l.all(), func(line map[string]any) bool {
		text, _ := line["message"].(string)
		return !strings.Contains(text, part)
	})
}

// load returns the configuration of a test: a port of its own and a data folder.
func load(t *testing.T, set map[string]string) testserver.Config {
	t.Helper()
	all := map[string]string{"listen": "127.0.0.1:0", "data": t.TempDir(), "limits.grace": "2s", "log.level": "debug"}
	maps.Copy(all, set)
	tools, err := builtin.New(builtin.Config{Ledger: filepath.Join(all["data"], "ledger.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	return testserver.Config{Set: all, Tools: []tool.Toolset{tools}}
}

// start runs a server until the test ends, or its stop is called.
func start(t *testing.T, c testserver.Config) *instance {
	t.Helper()
	in := startHooked(t, c, nil)
	t.Cleanup(func() { in.halt(t) })
	return in
}

// run runs s until the test ends, or stop is called, which returns what Run returned.
func run(t *testing.T, s *a2aserver.Server) (stop func() error, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	result := make(chan error, 1)
	go func() { result <- s.Run(ctx) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-result
	}), result
}

// startHooked is start with a hook. The test looks at how it ends.
func startHooked(t *testing.T, c testserver.Config, hook func(string)) *instance {
	t.Helper()
	log := newLogs(t)
	c.Log, c.CrashPoint = zerolog.New(zerolog.SyncWriter(log)), hook
	a, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	stop, ended := run(t, a)
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	t.Cleanup(client.CloseIdleConnections)
	return &instance{url: "http://" + a.Addr().String(), server: a, log: log, ended: ended, client: client, stop: stop}
}

// inside passes the requests of a client on this machine to a server's handler, without a connection.
type inside struct{ http.Handler }

func (h inside) RoundTrip(r *http.Request) (*http.Response, error) {
	to, w := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), r.Body), httptest.NewRecorder()
	to.Header, to.ContentLength, to.RemoteAddr = r.Header, r.ContentLength, "127.0.0.1:1"
	h.ServeHTTP(w, to)
	return w.Result(), nil
}

// startInside is start without a port, in a bubble of testing/synctest: nobody waits for its time
// limits. Answers are whole. The store has to be in memory: a child of another test may have the lock of a
// file until it is executed, and in a bubble no time is waited for it.
func startInside(t *testing.T, c testserver.Config) *instance {
	t.Helper()
	log := newLogs(t)
	c.Log, c.NoListen = zerolog.New(zerolog.SyncWriter(log)), true
	s, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	stop, ended := run(t, s)
	in := &instance{url: "http://localhost", server: s, log: log, ended: ended, client: &http.Client{Transport: inside{s.Handler()}}, stop: stop}
	t.Cleanup(func() { in.halt(t) })
	synctest.Wait() // until it serves
	return in
}

// halt ends the server, which has to end well.
func (in *instance) halt(t *testing.T) {
	t.Helper()
	if err := in.stop(); err != nil {
		t.Errorf("Run() = %v", err)
	}
}

// reload reads the configuration again.
func (in *instance) reload(t *testing.T) {
	t.Helper()
	if err := in.server.Reload(); err != nil {
		t.Fatal(err)
	}
}

// rewrite replaces a file.
func rewrite(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newKey adds a key to a file of API keys.
func newKey(t *testing.T, file string, k apikey.Key) string {
	t.Helper()
	key, err := apikey.Add(file, k, false)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// answered is all of an answer that a caller can see, and what it cost.
type answered struct {
	Status int
	Header http.Header
	Body   string
	Calls  int64 // of the store, where a test counts them
}

var reasonIn = regexp.MustCompile(`"reason":\s*"([A-Z_]+)"`)

// reason returns A2A's name for the error that an answer is; "": none.
func (a answered) reason() string {
	if m := reasonIn.FindStringSubmatch(a.Body); m != nil {
		return m[1]
	}
	return ""
}

// answerOf reads an answer to its end.
func answerOf(resp *http.Response) (answered, error) {
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answered{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}, err
}

// fetch makes a request. header are names and values in turn.
func (in *instance) fetch(t *testing.T, method, path, body string, header ...string) answered {
	t.Helper()
	a, err := answerOf(in.open(t, method, path, body, header...)) //nolint:bodyclose // by answerOf
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (in *instance) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	return in.do(t, http.MethodGet, path, "")
}

func (in *instance) do(t *testing.T, method, path, body string, header ...string) (status int, answer string) {
	t.Helper()
	a := in.fetch(t, method, path, body, header...)
	return a.Status, a.Body
}

func (in *instance) open(t *testing.T, method, path, body string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, in.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := in.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// taskAnswer is what the tests look at in an answer.
type taskAnswer struct {
	ID     string `json:"id"`
	Status struct {
		State string `json:"state"`
	} `json:"status"`
	Artifacts []struct {
		Parts []struct {
			Text string         `json:"text"`
			Data map[string]any `json:"data"`
		} `json:"parts"`
	} `json:"artifacts"`
}

// rpc calls a method and returns its result.
func (in *instance) rpc(t *testing.T, method string, params any, result any) {
	t.Helper()
	status, text := in.do(t, http.MethodPost, "/", request(t, method, params))
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(text), &answer); status != http.StatusOK || err != nil || answer.Error != nil {
		t.Fatalf("%s = %d %s", method, status, text)
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		t.Fatalf("%s = %s: %v", method, text, err)
	}
}

func request(t *testing.T, method string, params any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// send sends a text and returns the task that has become of it at its next rest.
func (in *instance) send(t *testing.T, id, text string) taskAnswer {
	t.Helper()
	var result struct{ Task taskAnswer }
	in.rpc(t, "SendMessage", message(id, text), &result)
	return result.Task
}

// sendAs sends a message with headers, and returns the answer, and the task in it, if any: once that has
// ended or waits for an answer or a decision, unless the message returns immediately.
func (in *instance) sendAs(t *testing.T, params map[string]any, header ...string) (task taskAnswer, said string) {
	t.Helper()
	config, _ := params["configuration"].(map[string]any)
	immediately := config["returnImmediately"] == true
	if config = maps.Clone(config); config == nil {
		config = map[string]any{}
	}
	params = maps.Clone(params)
	config["returnImmediately"], params["configuration"] = true, config
	_, said = in.do(t, http.MethodPost, "/", request(t, "SendMessage", params), header...)
	if task, _ = taskOf(t, said); task.ID == "" || immediately || settled(said) {
		return task, said
	}
	until(t, "the task waits or has ended", func() bool {
		_, said = in.do(t, http.MethodPost, "/", request(t, "GetTask", map[string]any{"id": task.ID}), header...)
		return settled(said)
	})
	task, _ = taskOf(t, said)
	return task, said
}

// settled reports whether the task in an answer has ended, or waits for an answer or a decision.
func settled(said string) bool {
	return regexp.MustCompile(`"state":"TASK_STATE_(INPUT_REQUIRED|AUTH_REQUIRED|COMPLETED|FAILED|CANCELED|REJECTED)"|"elsewhere":\[`).MatchString(said)
}

// taskOf returns the task in an answer of JSON-RPC, if there is one.
func taskOf(t *testing.T, said string) (task taskAnswer, ok bool) {
	t.Helper()
	var answer struct {
		Result struct {
			taskAnswer
			Task taskAnswer
		}
	}
	if err := json.Unmarshal([]byte(said), &answer); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if task = answer.Result.Task; task.ID == "" {
		task = answer.Result.taskAnswer
	}
	return task, task.ID != ""
}

// approve approves a call of a task, and returns the task at its next rest.
func (in *instance) approve(t *testing.T, id, task, approval string) taskAnswer {
	t.Helper()
	var result struct{ Task taskAnswer }
	in.rpc(t, "SendMessage", approve(id, task, approval), &result)
	return result.Task
}

func message(id, text string) map[string]any {
	return map[string]any{"message": map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}}
}

// withWebhook is a message of a text, and the webhook of its task.
func withWebhook(id, text string, webhook map[string]any) map[string]any {
	m := message(id, text)
	m["configuration"] = map[string]any{"taskPushNotificationConfig": webhook}
	return m
}

// approve is the message that approves a call of a task.
func approve(id, task, approval string) map[string]any {
	decision := map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": approval, "decision": "approve"}}}
	return map[string]any{"message": map[string]any{"messageId": id, "taskId": task, "role": "ROLE_USER", "parts": []any{map[string]any{"data": decision}}}}
}

// followed is a stream that is being read.
type followed struct {
	protocol string
	lines    []string // without empty ones; set when ended is
	ended    chan error
}

// follow opens a stream and returns when its first event is here.
func (in *instance) follow(t *testing.T, request string, header ...string) *followed {
	t.Helper()
	resp := in.open(t, http.MethodPost, "/", request, header...) //nolint:bodyclose // by the goroutine below
	f := &followed{protocol: resp.Proto, ended: make(chan error, 1)}
	begun := make(chan struct{})
	go func() {
		defer resp.Body.Close()
		begin := sync.OnceFunc(func() { close(begun) })
		defer begin()
		scan := bufio.NewScanner(resp.Body)
		for scan.Scan() {
			if scan.Text() != "" {
				f.lines = append(f.lines, scan.Text())
			}
			if strings.HasPrefix(scan.Text(), "data: ") {
				begin()
			}
		}
		f.ended <- scan.Err()
	}()
	<-begun
	return f
}

// end waits for the end of the stream and returns all of its lines.
func (f *followed) end(t *testing.T) []string {
	t.Helper()
	if err := <-f.ended; err != nil || len(f.lines) == 0 {
		t.Fatalf("the stream ends with %v after %d lines", err, len(f.lines))
	}
	return f.lines
}

// all returns every line of the log.
func (l *logs) all() []map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// somebody is a uid that no user of this machine has.
const somebody = 54321

// doorFor returns the keys with which somebody may connect, if they are one of users.
func doorFor(users string) string {
	group := os.Getgid()
	if !strings.Contains(users, "uid: "+strconv.Itoa(somebody)) {
		return ""
	}
	if group == 0 {
		group = somebody // root may give files to every group
	}
	return "admin: {mode: '0660', group: '" + strconv.Itoa(group) + "'}\n"
}
