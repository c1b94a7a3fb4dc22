package deploy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience turns a hang into a failure.
const patience = time.Minute

// made is the image of a release of this tree, unpacked.
var made = sync.OnceValues(func() (*image, error) { //nolint:gochecknoglobals // made once for all tests
	dir, err := os.MkdirTemp("", "a2a-server-deploy-")
	if err != nil {
		return nil, err
	}
	i := &image{root: filepath.Join(dir, "root")}
	dist := filepath.Join(dir, "dist")
	cmd := exec.Command("go", "run", ".", "-dist", dist, "-platforms", "linux/"+runtime.GOARCH)
	cmd.Dir = "../internal/release"
	if out, err := cmd.CombinedOutput(); err != nil {
		return i, fmt.Errorf("make a release: %w\n%s", err, out)
	}
	return i, i.unpack(dist)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if i, _ := made(); i != nil {
		_ = os.RemoveAll(filepath.Dir(i.root))
	}
	os.Exit(code)
}

// program returns the path of the program, as the image has it.
func program(t *testing.T) string {
	t.Helper()
	i, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(i.root, "usr", "bin", "a2a-server")
}

// find returns the path of a program. Without it nothing is shown, so it is no reason to
// skip.
func find(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil { // servers are not in everybody's PATH
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		t.Fatalf("no %s: install Debian's %s, as .ci/run does (%v)", name, from, err)
	}
	return path
}

// read returns a file of this folder.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replace puts one text in the place of another, which must be there.
func replace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the file has no %q any more: change the test with it", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// run runs a command to its end and returns what it wrote and what it exited with.
func run(t *testing.T, cmd *exec.Cmd) (output string, code int) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// process is a program that runs until it is ended.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	url string // of a server

	mu    sync.Mutex
	lines []string
	ended chan struct{}
}

// start starts a program, and returns when it has written a line with this text.
func start(t *testing.T, cmd *exec.Cmd, until string) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		t.Fatalf("start %s: %v", cmd, err)
	}
	found := make(chan string, 1)
	go func() {
		defer close(p.ended)
		for scan := bufio.NewScanner(r); scan.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, scan.Text())
			p.mu.Unlock()
			if strings.Contains(scan.Text(), until) {
				select {
				case found <- scan.Text():
				default:
				}
			}
		}
		_ = r.Close()
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.ended
	})
	select {
	case line := <-found:
		var said struct{ Address string }
		if json.Unmarshal([]byte(line), &said) == nil {
			p.url = "http://" + said.Address
		}
	case <-p.ended:
		t.Fatalf("%s has ended, want it to run and say %q:\n%s", cmd, until, p.said())
	case <-time.After(patience):
		t.Fatalf("%s does not say %q:\n%s", cmd, until, p.said())
	}
	return p
}

// serve starts the server with these settings on a port of its own.
func serve(t *testing.T, settings ...string) *process {
	t.Helper()
	cmd := exec.Command(program(t), "serve")
	cmd.Env = append([]string{"A2A_SERVER_LISTEN=127.0.0.1:0", "A2A_SERVER_DATA=" + t.TempDir()}, settings...)
	return start(t, cmd, `"message":"listening"`)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// stop ends a server as its supervisor does, and wants it to go well.
func (p *process) stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s does not end:\n%s", p.cmd, p.said())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s exited with %d:\n%s", p.cmd, code, p.said())
	}
}

type object = map[string]any

// task is what of a task these tests look at.
type task struct {
	ID     string `json:"id"`
	Status struct {
		State string `json:"state"`
	} `json:"status"`
}

// once returns a client that keeps no connection, as its server may be another one by the
// next request.
func once() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

// withKey sends an API key with each request.
type withKey struct {
	to  http.RoundTripper
	key string
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-API-Key", k.key)
	return k.to.RoundTrip(r)
}

// call sends a request of HTTP+JSON, and returns the status and the answer.
func call(t *testing.T, c *http.Client, method, url string, body object) (status int, answer string) {
	t.Helper()
	resp := open(t, c, method, url, body)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp.StatusCode, string(raw)
}

func open(t *testing.T, c *http.Client, method, url string, body object) *http.Response {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if body == nil {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp
}

func message(id, text string, more object) object {
	m := object{"messageId": id, "role": "ROLE_USER", "parts": []object{{"text": text}}}
	for k, v := range more {
		m[k] = v
	}
	return object{"message": m}
}

// send sends a message and returns its task.
func send(t *testing.T, c *http.Client, base string, m object) task {
	t.Helper()
	status, answer := call(t, c, http.MethodPost, base+"/message:send", m)
	var got struct{ Task task }
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK {
		t.Fatalf("send = %d %s", status, answer)
	}
	return got.Task
}

// approval is the message that approves what a task asks, by the end of its id after the task's.
func approval(id string, asked task, end string) object {
	decision := object{"type": "approval_response", "decisions": []object{{"id": asked.ID + end, "decision": "approve"}}}
	return message(id, "", object{"taskId": asked.ID, "parts": []object{{"data": decision}}})
}
