package child_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"a2a-server/internal/child"
)

// A child does not outlive the server, whatever kills that.
func TestServerDies(t *testing.T) {
	t.Parallel()
	p := start(t, command("server"))
	pid, err := strconv.Atoi(line(t, p.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	if !running(pid) {
		t.Fatal("the child of the server does not run")
	}
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil { // the server alone: its child has a group of its own
		t.Fatal(err)
	}
	gone(t, pid)
}

// It does outlive the thread of the caller.
func TestThreadEnds(t *testing.T) {
	t.Parallel()
	started := make(chan *child.Process)
	thread := 0
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
		thread = syscall.Gettid()
		p, err := child.Start(command("stubborn"))
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	if p == nil {
		return
	}
	defer p.Close()
	line(t, p.Stdout)
	for {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); errors.Is(err, os.ErrNotExist) || thread == os.Getpid() {
			break
		}
		runtime.Gosched()
	}
	if !running(p.Pid()) {
		t.Error("the child ended with the thread that asked for it")
	}
}

// Neither processes that ran nor those that could not be started leave descriptors open.
func TestDescriptors(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	run := func() {
		c := command("both")
		c.Stdin, c.Stderr = true, true
		p, err := child.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		c.Argv = append(c.Argv, strings.Repeat("x", 8<<20))
		if _, err := child.Start(c); err == nil {
			t.Fatal("it was started")
		}
	}
	run()
	before := count()
	for range 20 {
		run()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

// reaper is the first process of a container: orphans become its children.
func reaper() {
	const setSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setSubreaper, 1, 0); errno != 0 {
		fmt.Println(errno)
		return
	}
	c := command("parent")
	c.Linger = 1
	p, err := child.Start(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	<-p.Done()
	_, err = syscall.Wait4(-1, nil, 0, nil)
	fmt.Println(err)
}

// Orphans are reaped too, where that is up to us.
func TestOrphans(t *testing.T) {
	t.Parallel()
	if got, want := strings.TrimSpace(all(t, start(t, command("reaper")).Stdout)), syscall.ECHILD.Error(); got != want {
		t.Errorf("after the end of the group, a wait for any child says %q, want %q", got, want)
	}
}
