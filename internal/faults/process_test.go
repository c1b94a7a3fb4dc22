//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The process is stopped for a while, as by a debugger or a machine that is moved.
func TestStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start()
	l := w.load()
	w.reached(20)
	need(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	eventually(t, "the process is stopped", func() bool { return stopped(t, s) })
	w.elapses(3 * time.Second)
	need(t, s.cmd.Process.Signal(syscall.SIGCONT))
	w.recovers()
	w.reached(20)
	struck(t, 1)
	w.settle(l)
}

// Few descriptors: connections beyond them are closed, and what was acknowledged stays.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.toolsFail = true
	s := w.start("sh", "-c", `ulimit -n 64; exec "$@"`, "sh")
	l := w.load()
	w.reached(10)
	address := strings.TrimPrefix(s.url, "http://")
	address, _, _ = strings.Cut(address, "/")
	var idle []net.Conn
	for range 100 {
		c, err := net.DialTimeout("tcp", address, 5*time.Second)
		if err != nil {
			break
		}
		idle = append(idle, c)
	}
	// The listener knows how few there are, and closes what is too much.
	closed := 0
	eventually(t, "connections beyond what the descriptors allow are closed", func() bool {
		closed = 0
		for _, c := range idle {
			need(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
			var timeout net.Error
			if _, err := c.Read(make([]byte, 1)); err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
				closed++
			}
		}
		return closed > 0
	})
	w.elapses(2 * time.Second)
	for _, c := range idle {
		_ = c.Close()
	}
	w.recovers()
	w.reached(10)
	struck(t, closed)
	w.settle(l)
}

// Little memory, by a group that the kernel holds to it.
func TestLittleMemory(t *testing.T) {
	t.Parallel()
	const limit = 256 << 20
	group, high := memoryGroup(t, limit)
	w := newWorld(t)
	w.size = bigText
	s := w.start("sh", "-c", `echo $$ >`+filepath.Join(group, "cgroup.procs")+`; exec "$@"`, "sh")
	l := w.load()
	more := make([]*load, 4)
	for i := range more {
		more[i] = w.load()
	}
	w.reached(100)
	eventually(t, "the memory is used up", func() bool { return s.dead() || high() >= limit*9/10 })
	if s.dead() {
		t.Fatalf("the server has ended: %v\n%s", s.err, s.said())
	}
	struck(t, high()>>20)
	for _, m := range more {
		m.stop()
	}
	w.recovers()
	w.settle(l)
}

// memoryGroup makes a group of processes that gets at most limit bytes; high tells the
// most that it has had.
func memoryGroup(t *testing.T, limit int) (folder string, high func() int) {
	t.Helper()
	name := fmt.Sprintf("a2a-server-faults-%d", os.Getpid())
	for _, kind := range []struct{ root, limit, most string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"},
		{"/sys/fs/cgroup", "memory.max", "memory.peak"},
	} {
		folder = filepath.Join(kind.root, name)
		if os.Mkdir(folder, 0o700) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(folder) })
		if os.WriteFile(filepath.Join(folder, kind.limit), []byte(strconv.Itoa(limit)), 0o600) != nil {
			_ = os.Remove(folder)
			continue
		}
		return folder, func() int {
			text, _ := os.ReadFile(filepath.Join(folder, kind.most))
			n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			return n
		}
	}
	skip(t, "no group with a limit of memory can be made")
	return "", nil
}

// Two hundred decide about one call, half of them against it, while the disk refuses to
// be written: one side has it, and nobody of the other was told that it had.
func TestRacingDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.errand() // an echo
	w.finish()
	e := w.errand() // a transfer
	ctx, cancel := context.WithTimeout(context.Background(), endBound)
	defer cancel()
	need(t, e.send(ctx, w.to()))
	asked := must(w.to().get(ctx, e.id))(t)
	questions, err := asked.Status.questions()
	if err != nil || len(questions) != 1 {
		t.Fatalf("the call is asked about by %v, %v; want one question", questions, err)
	}
	w.fault(atWrite, syscall.ENOSPC, 0, false)
	verbs := []string{approve, reject}
	var told [2]atomic.Int64
	var deciders sync.WaitGroup
	for n := range 200 {
		deciders.Go(func() {
			side := n % 2
			again := time.NewTicker(100 * time.Millisecond)
			defer again.Stop()
			for {
				err := decide(ctx, w.to(), e.id, questions[0].ID, verbs[side], fmt.Sprintf("%s %d", verbs[side], n))
				switch {
				case err == nil:
					told[side].Add(1)
					return
				case !unsaid(err):
					return // somebody else has decided
				case ctx.Err() != nil:
					t.Errorf("a decision was never answered: %v", err)
					return
				}
				select {
				case <-again.C:
				case <-ctx.Done():
				}
			}
		})
	}
	eventually(t, "the fault strikes", func() bool { return w.strikes() > 0 })
	if told[0].Load()+told[1].Load() > 0 {
		t.Error("a decision was acknowledged that the disk does not have")
	}
	w.elapses(time.Second)
	w.mend()
	deciders.Wait()
	struck(t, w.strikes())
	if (told[0].Load() > 0) == (told[1].Load() > 0) {
		t.Errorf("%d were told that they approved it, %d that they rejected it; want one side", told[0].Load(), told[1].Load())
	}
	if told[1].Load() > 0 {
		e.kind = reject
	}
	w.finish()
	w.verify()
	w.live.stop()
	w.live.sound()
	w.again()
}
