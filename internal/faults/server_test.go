//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// How long things may take before a test gives up. They are far more than is needed,
// for a machine that is busy.
const (
	startBound = 2 * time.Minute
	endBound   = 2 * time.Minute
	soonBound  = 2 * time.Minute

	// wakeBound is how long a server may take to notice that its clock has jumped when
	// something wakes it: less than the minute after which it looks by itself.
	wakeBound = 50 * time.Second
)

// server is a process of the program.
type server struct {
	t         *testing.T
	cmd       *exec.Cmd
	url       string        // "": it ended before it listened
	listening chan string   // gets the url
	exited    chan struct{} // closed at its end
	err       error         // of its end; to be read when exited is closed

	mu     sync.Mutex
	output bytes.Buffer
}

// startServer starts the program and returns when it listens or has ended. What is to be
// put before it in the command line, such as a shell that sets limits, is in front.
func startServer(t *testing.T, binary, control string, front []string, args ...string) *server {
	t.Helper()
	s := spawn(t, binary, control, front, args...)
	select {
	case s.url = <-s.listening:
	case <-s.exited:
	case <-time.After(startBound):
		t.Errorf("the server has neither begun to listen nor ended within %v; it said:\n%s", startBound, s.said())
		s.kill()
	}
	return s
}

// spawn starts the program and returns at once.
func spawn(t *testing.T, binary, control string, front []string, args ...string) *server {
	t.Helper()
	line := append(append(append([]string{}, front...), binary, "serve", "--listen", "127.0.0.1:0"), args...)
	s := &server{t: t, cmd: exec.Command(line[0], line[1:]...), listening: make(chan string, 1), exited: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), controlEnv+"="+control, "A2A_SERVER_LIMITS_GRACE=2s")
	pipe := must(s.cmd.StderrPipe())(t)
	need(t, s.cmd.Start())
	t.Cleanup(s.kill)
	go func() {
		defer close(s.exited)
		s.listen(pipe)
		s.err = s.cmd.Wait()
	}()
	return s
}

// listen takes what the process writes, until it has ended.
func (s *server) listen(pipe io.Reader) {
	read := bufio.NewReader(pipe)
	for {
		line, err := read.ReadBytes('\n')
		s.mu.Lock()
		s.output.Write(line)
		s.mu.Unlock()
		if err != nil {
			return
		}
		var said struct{ Message, URL string }
		if json.Unmarshal(line, &said) == nil && said.Message == "listening" {
			s.listening <- said.URL
		}
	}
}

// kill ends the process, if it has not ended, as a loss of the process does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may be gone already
	<-s.exited
}

// stop asks the process to end and waits for that.
func (s *server) stop() {
	s.t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if !s.ends(endBound) {
		s.t.Errorf("the server does not end when it is told to; it said:\n%s", s.said())
		s.kill()
		return
	}
	if s.err != nil {
		s.t.Errorf("the server ended with %v; it said:\n%s", s.err, s.said())
	}
}

// ends waits for the end, at most for d.
func (s *server) ends(d time.Duration) bool {
	select {
	case <-s.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// dead reports whether the process has ended.
func (s *server) dead() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// said returns what the process wrote to stderr.
func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}

// sound fails the test when the process wrote of a bug.
func (s *server) sound() {
	s.t.Helper()
	for _, sign := range []string{"panic", "fatal error", "DATA RACE", "SIGSEGV", "goroutine "} {
		if said := s.said(); strings.Contains(said, sign) {
			s.t.Errorf("the server said %q:\n%s", sign, said)
			return
		}
	}
}

// probe asks whether the server is ready: the status, 0 without an answer, and what it says.
func (s *server) probe(c *http.Client) (status int, says string) {
	base, _, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), "/")
	resp, err := c.Get("http://" + base + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// eventually waits until a condition holds, and fails the test when that takes too long.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	within(t, soonBound, what, holds)
}

// within is eventually with another bound.
func within(t *testing.T, bound time.Duration, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	over := time.After(bound)
	for !holds() {
		select {
		case <-look.C:
		case <-over:
			t.Fatalf("not within %v: %s", bound, what)
		}
	}
}
