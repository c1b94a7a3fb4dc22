package child

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Process is a child that was started. Its methods are safe for concurrent use.
type Process struct {
	// Stdin, Stdout and Stderr are the pipes that the [Command] asks for, else nil. Each
	// output must be read, by one goroutine, or the child blocks. An output ends (io.EOF) when
	// no process has it open any more, and at the latest shortly after the process and its
	// group have ended. Input is closed when the process has ended.
	Stdin          io.WriteCloser
	Stdout, Stderr io.ReadCloser

	pid    int
	grace  time.Duration
	linger time.Duration
	input  *os.File // nil: no pipe
	output []*output

	drained chan struct{} // closed when all output has ended
	killed  chan struct{} // closed when SIGKILL was sent
	done    chan struct{}

	mu      sync.Mutex
	open    int         // outputs that have not ended
	stopped bool        // it was told to end while it ran
	over    bool        // it has exited
	reaped  bool        // its id may belong to another process now
	timer   *time.Timer // kills it after the grace period
	isDead  bool        // killed is closed
	end     End
}

// End is how a process ended.
type End struct {
	Code    int    // the exit code; -1 if a signal ended it
	Signal  string // the signal that ended it, such as "killed"; "" if it exited
	Stopped bool   // Stop, Kill or Close was called before it had ended
}

// Start starts a command. Its errors mean that nothing has run, and are for people; if
// the program is not installed, they wrap [ErrNotFound]. Close must be called in the end.
func Start(c Command) (*Process, error) {
	cmd, err := c.prepare()
	if err != nil {
		return nil, err
	}
	p := &Process{
		grace: c.Grace, linger: c.Linger,
		drained: make(chan struct{}), killed: make(chan struct{}), done: make(chan struct{}),
	}
	theirs, err := p.connect(&c, cmd)
	if err == nil {
		started := make(chan error)
		go p.supervise(cmd, started)
		if err = <-started; err != nil {
			err = notStarted(cmd.Path, err)
		}
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, err
	}
	return p, nil
}

// connect makes the pipes, and returns the ends that are the child's.
func (p *Process) connect(c *Command, cmd *exec.Cmd) (theirs []*os.File, err error) {
	if c.Stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		theirs = append(theirs, r)
		p.input, p.Stdin, cmd.Stdin = w, w, r
	}
	for _, to := range []struct {
		wanted bool
		child  *io.Writer
		ours   *io.ReadCloser
	}{{c.Stdout, &cmd.Stdout, &p.Stdout}, {c.Stderr, &cmd.Stderr, &p.Stderr}} {
		if !to.wanted {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		theirs = append(theirs, w)
		o := &output{file: r, left: maxRest, ended: p.outputEnded}
		p.output = append(p.output, o)
		*to.child, *to.ours = w, o
	}
	if p.open = len(p.output); p.open == 0 {
		close(p.drained)
	}
	return theirs, nil
}

func (p *Process) outputEnded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open--; p.open == 0 {
		close(p.drained)
	}
}

// supervise starts the process, waits for its end and reaps it. The signal that a child
// gets when its parent dies is sent when the thread that started it ends, so the thread
// belongs to this goroutine until the child is gone. Waiting takes a thread anyway.
func (p *Process) supervise(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil

	// While the process is not reaped, no other process and no other group can have its id.
	waitable := awaitExit(p.pid)
	if !waitable {
		_ = cmd.Wait()
	}
	p.mu.Lock()
	p.over = true
	p.reaped = !waitable
	p.mu.Unlock()

	linger := time.NewTimer(p.linger)
	select {
	case <-p.drained:
	case <-p.killed:
	case <-linger.C:
	}
	linger.Stop()

	p.mu.Lock()
	p.kill()
	p.reaped = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	if waitable {
		_ = cmd.Wait() // the error says how it ended, and so does the state
	}
	reapGroup(p.pid)

	p.mu.Lock()
	p.end.Code, p.end.Signal = cmd.ProcessState.ExitCode(), signalOf(cmd.ProcessState)
	p.end.Stopped = p.stopped
	p.mu.Unlock()
	if p.input != nil {
		_ = p.input.Close() // a writer would wait forever for a process that left the group
	}
	for _, o := range p.output {
		o.finish()
	}
}

// Pid is the id of the process, and of its group.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the process has ended, and its group with it. Its output may still have
// to be read.
func (p *Process) Done() <-chan struct{} { return p.done }

// End is how the process ended. It is complete once Done is closed.
func (p *Process) End() End {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

// Stop tells the group to end with SIGTERM, and kills it after the grace period. It
// returns immediately. Further calls change nothing.
func (p *Process) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped || p.timer != nil || p.isDead {
		return
	}
	p.stopped = p.stopped || !p.over
	signalGroup(p.pid, terminate)
	p.timer = time.AfterFunc(p.grace, p.Kill)
}

// Kill kills the group with SIGKILL. It returns immediately.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = p.stopped || !p.over && !p.reaped
	p.kill()
}

// kill requires p.mu.
func (p *Process) kill() {
	if !p.reaped {
		signalGroup(p.pid, kill)
	}
	if !p.isDead {
		p.isDead = true
		close(p.killed)
	}
}

// Close kills the group if it still runs, waits until it has ended, and closes the pipes.
// A process that the system itself blocks is not waited for longer than the grace period.
func (p *Process) Close() {
	p.Kill()
	patience := time.NewTimer(p.grace)
	defer patience.Stop()
	select {
	case <-p.done:
	case <-patience.C:
	}
	p.closePipes()
}

func (p *Process) closePipes() {
	if p.input != nil {
		_ = p.input.Close()
	}
	for _, o := range p.output {
		_ = o.file.Close()
	}
}
