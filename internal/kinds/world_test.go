//go:build unix

package kinds_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// process is a server process as its parent sees it.
type process struct {
	address string
	cmd     *exec.Cmd
	stdin   io.Closer
	out     *bufio.Reader
	stderr  bytes.Buffer
}

// launch starts a server process. An address of "" means that it died before it had one.
func launch(c serverConfig) (*process, error) {
	env, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), serverEnv+"="+string(env), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = 10 * time.Second
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := p.out.ReadString('\n')
	if err == nil {
		p.address = line[:len(line)-1]
	}
	return p, nil
}

// died waits for the end of the process. hits are the points that it passed, nil if it was
// killed at its point.
func (p *process) died() (hits map[string]int, err error) {
	said, err := io.ReadAll(p.out)
	if err != nil {
		return nil, err
	}
	err = p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("server: %w\n%s", err, &p.stderr)
	}
	err = json.Unmarshal(said, &hits)
	return hits, err
}

// world is one run of all scenes: a folder, what is reached over HTTP, and the server
// process of the moment.
type world struct {
	dir    string
	remote *httptest.Server
	mcp    *mcp.Server // of remote

	mu      sync.Mutex
	address string        // of the server
	changed chan struct{} // closed when address changes
	paid    []payment     // over HTTP
	unknown map[string]bool
	ends    map[string]string // state at the end, by scene
}

func newWorld(t *testing.T) *world {
	t.Helper()
	// On a disk, where the space that a store takes ahead costs nothing.
	w := &world{dir: t.TempDir(), changed: make(chan struct{}), unknown: map[string]bool{}, ends: map[string]string{}}
	w.mcp = mcpServer(func(p payment) error {
		w.pay(p)
		return nil
	})
	w.remote = httptest.NewServer(w.remoteHandler())
	t.Cleanup(func() {
		for session := range w.mcp.Sessions() { // of servers that were killed
			_ = session.Close()
		}
		w.remote.Close()
	})
	if err := configure(w.config()); err != nil {
		t.Fatal(err)
	}
	return w
}

// remoteHandler is what tools reach over HTTP. It outlives the server.
func (w *world) remoteHandler() http.Handler {
	mux := http.NewServeMux()
	pay := func(rw http.ResponseWriter, r *http.Request) {
		var p payment
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		w.pay(p)
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]any{"paid": p.Amount}) // a server that was killed does not read it
	}
	mux.HandleFunc("POST /pay", pay)
	mux.HandleFunc("POST /pay/soon", pay)
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.mcp }, nil))
	return mux
}

func (w *world) pay(p payment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paid = append(w.paid, p)
}

func (w *world) config() serverConfig { return serverConfig{Dir: w.dir, Remote: w.remote.URL} }

// serves says where the server is now.
func (w *world) serves(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.address = address
	close(w.changed)
	w.changed = make(chan struct{})
}

// server returns where the server is, once that is not address.
func (w *world) server(ctx context.Context, not string) (string, error) {
	for {
		w.mu.Lock()
		address, changed := w.address, w.changed
		w.mu.Unlock()
		if address != "" && address != not {
			return address, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("wait for a server: %w", context.Cause(ctx))
		}
	}
}

// play plays all scenes, with a first server that is killed at a point, if one is named,
// and a second one. It returns how often the first one passed each point, nil if it was
// killed.
func (w *world) play(t *testing.T, point string, n int) (hits map[string]int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	c := w.config()
	c.Point, c.N = point, n
	first, err := launch(c)
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		hits map[string]int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		hits, err := first.died()
		ended <- end{hits, err}
	}()
	if first.address != "" {
		w.serves(first.address)
	}
	var clients sync.WaitGroup
	var mu sync.Mutex
	var wrong []error
	for _, s := range scenes() {
		clients.Go(func() {
			if err := w.client(ctx, s); err != nil {
				mu.Lock()
				wrong = append(wrong, fmt.Errorf("%s: %w", s.name(), err))
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	var second *process
	select {
	case <-done:
		_ = first.stdin.Close()
		e := <-ended
		if hits, err = e.hits, e.err; hits == nil && err == nil && point != "" {
			return nil // killed when all was over
		}
	case e := <-ended:
		if hits, err = e.hits, e.err; hits != nil || err != nil {
			t.Errorf("the server ended by itself: %v", err)
			cancel()
			break
		}
		if second, err = launch(w.config()); err != nil {
			t.Error(err)
			cancel()
			break
		}
		w.serves(second.address)
	}
	<-done
	for _, err := range wrong {
		t.Error(err)
	}
	if second != nil {
		_ = second.stdin.Close()
		_, err = second.died()
	}
	if err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("first server:\n%s", &first.stderr)
		if second != nil {
			t.Logf("second server:\n%s", &second.stderr)
		}
	}
	return hits
}

// check compares what was paid with what the clients wanted.
func (w *world) check(t *testing.T) {
	t.Helper()
	c := w.config()
	text, err := os.ReadFile(c.ledger())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	paid, err := payments(string(text))
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	paid = append(paid, w.paid...)
	for _, s := range scenes() {
		times := 0
		for _, p := range paid {
			if p.Scene != s.name() {
				continue
			}
			times++
			if p.Amount != s.amount() {
				t.Errorf("%s: paid %d, want %d", s.name(), p.Amount, s.amount())
			}
		}
		switch state := w.ends[s.name()]; {
		case times > 1:
			t.Errorf("%s: paid %d times", s.name(), times)
		case !s.mayRun() && times > 0:
			t.Errorf("%s: paid, and nobody approved it", s.name())
		case !s.mayRun() && w.unknown[s.name()] && state == "TASK_STATE_FAILED": // its tool had been entered, and was given up
		case !s.mayRun() && state != "TASK_STATE_CANCELED":
			t.Errorf("%s: ended %s, want canceled", s.name(), state)
		case s.mayRun() && w.unknown[s.name()]: // a person said that it is not to run again
		case s.mayRun() && (times != 1 || state != "TASK_STATE_COMPLETED"):
			t.Errorf("%s: paid %d times and ended %s, want once and completed", s.name(), times, state)
		}
	}
}
