package mcptoolset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"a2a-server/internal/child"
	"a2a-server/internal/visible"
)

// Command starts a server as a child process, in a process group that ends with it.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is looked up in
	// the PATH of Env. There is no shell.
	Argv []string
	// Env is the whole environment, each entry "NAME=value".
	Env []string
	// Secrets are variables that are added to Env. The functions are called each time that
	// the server is started.
	Secrets map[string]func() (string, error)
	// Dir is the working folder. Defaults to that of this process.
	Dir string
}

// The limits of a child process that cannot be configured.
const (
	stopAfter    = 300 * time.Millisecond // without input, before SIGTERM
	killAfter    = 2 * time.Second        // after SIGTERM
	exitPatience = time.Second            // between the end of the output and that of the process
	maxLogged    = 200                    // logged lines of a process's stderr
	maxLine      = 300                    // characters of a line of stderr
	maxLastWords = 20                     // last lines of stderr that are kept
)

// process is a server that runs as a child, as a stream.
type process struct {
	*child.Process
	io.Reader // its output
	io.Writer // its input

	stderr sync.WaitGroup
}

// program is the link to a process.
type program struct {
	*lines
	process *process
}

// Startable returns the obstacle to starting the server now, such as a missing program; nil if
// none is known, or the server is no program. Nothing is started.
func (t *Toolset) Startable() error {
	if t.cfg.Command == nil {
		return nil
	}
	return child.Check(child.Command{Argv: t.cfg.Command.Argv, Env: t.cfg.Command.Env, Dir: t.cfg.Command.Dir})
}

// start starts the server for a session.
func (t *Toolset) start(c *Command, s *session) (*program, error) {
	env := slices.Clone(c.Env)
	for name, value := range c.Secrets {
		v, err := value()
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", name, err)
		}
		env = append(env, name+"="+v)
	}
	started, err := child.Start(child.Command{
		Argv: c.Argv, Env: env, Dir: c.Dir, Stdin: true, Stdout: true, Stderr: true, Grace: killAfter,
	})
	if err != nil {
		return nil, err
	}
	p := &process{Process: started, Reader: started.Stdout, Writer: started.Stdin}
	p.stderr.Go(func() { t.readStderr(p) })
	return &program{newLines(p, t.cfg.maxMessage, s), p}, nil
}

// readStderr logs the server's stderr, and keeps reading beyond the limit: a server whose
// stderr is not read stops. It keeps the last lines for Status.
func (t *Toolset) readStderr(p *process) {
	var last []string
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.lastWords = last
	}()
	in := bufio.NewReaderSize(p.Stderr, 4<<10)
	for n := 0; ; {
		line, prefix, err := in.ReadLine()
		if err != nil {
			return
		}
		text := visible.Clip(string(line), maxLine)
		for prefix && err == nil { // the rest of a long line
			_, prefix, err = in.ReadLine()
		}
		if text == "" {
			continue
		}
		if last = append(last, text); len(last) > maxLastWords {
			last = last[1:]
		}
		if n++; n <= maxLogged {
			t.cfg.Logger.Debug().Str("mcp_server", t.cfg.Name).Str("line", text).Msg("mcp server writes to stderr")
		}
	}
}

// Close ends the server as MCP asks for: without input it should end by itself; then it is
// told to, and then it is killed. Close does not wait for that.
func (p *process) Close() error {
	err := p.Stdin.Close()
	time.AfterFunc(stopAfter, p.Stop)
	return err
}

func (p *program) kill() {
	p.process.Kill()
	p.lines.kill()
}

func (p *program) release() {
	p.process.Process.Close()
	p.lines.release()
	p.process.stderr.Wait()
}

// sayLastWords logs the last lines of stderr of a server that ended by itself.
func (t *Toolset) sayLastWords() {
	t.mu.Lock()
	last := t.lastWords
	t.mu.Unlock()
	if len(last) > 0 {
		t.cfg.Logger.Warn().Str("mcp_server", t.cfg.Name).Strs("lines", last).Msg("mcp server ended; its last lines on stderr")
	}
}

// explain says more about the end of the connection than that the output ended.
func (p *program) explain(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errClosed) && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	select {
	case <-p.process.Done():
	case <-time.After(exitPatience):
		return publicError("the server closed its output")
	}
	switch e := p.process.End(); {
	case e.Stopped:
		return err
	case e.Signal != "":
		return publicErrorf("its process was ended by a signal (%s)", e.Signal)
	default:
		return publicErrorf("its process exited with code %d", e.Code)
	}
}
