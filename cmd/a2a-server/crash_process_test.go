//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// built holds the programs that tests build.
var built struct {
	dir  string
	once sync.Once
	path string
	err  error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "a2a-server-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	if signal.Ignored(syscall.SIGHUP) { // as below nohup; the programs that are started would ignore it, too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// binary builds the program, once, as the tour does, with the points and without symbols, which are
// half of the linker's work.
func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		built.path = filepath.Join(built.dir, "a2a-server")
		args, err := buildCommand(built.dir)
		if err != nil {
			built.err = err
			return
		}
		c := exec.Command(args[0], args[1:]...)
		c.Dir = filepath.Dir(readme)
		c.Env = append(os.Environ(), "GOFLAGS=-tags=crashpoints '-ldflags=-s -w'")
		if out, err := c.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// process is a server that was started.
type process struct {
	cmd    *exec.Cmd
	url    string        // "": it died before it listened
	exited chan struct{} // closed at its end
	err    error         // of its end; set when exited is closed

	mu     sync.Mutex
	output bytes.Buffer
}

// startProcess starts the server and returns when it listens, or is dead. crashAt may
// be empty.
func startProcess(t *testing.T, crashAt string, args ...string) *process {
	t.Helper()
	all := append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	p := &process{cmd: exec.Command(binary(t), all...), exited: make(chan struct{})}
	if crashAt != "" {
		p.cmd.Env = append(os.Environ(), "A2A_SERVER_CRASH_AT="+crashAt)
	}
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	go func() {
		defer close(p.exited)
		read := bufio.NewReader(pipe)
		for {
			line, err := read.ReadBytes('\n')
			p.mu.Lock()
			p.output.Write(line)
			p.mu.Unlock()
			if err != nil {
				break
			}
			var said struct{ Message, URL string }
			if json.Unmarshal(line, &said) == nil && said.Message == "listening" {
				listening <- said.URL
			}
		}
		p.err = p.cmd.Wait()
	}()
	select {
	case p.url = <-listening:
	case <-p.exited:
	}
	return p
}

// end sends a signal and waits for the end.
func (p *process) end(s os.Signal) {
	_ = p.cmd.Process.Signal(s) // it may be gone already
	<-p.exited
}

// dead reports whether the process has ended.
func (p *process) dead() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// killedBy reports whether a dead process was killed by a signal.
func (p *process) killedBy(s syscall.Signal) bool {
	<-p.exited
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == s
}

// said returns what the process wrote to stderr.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}
