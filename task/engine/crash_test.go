//go:build unix

package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// This is the suite of process death: the engine, on a real file, in a process of
// its own that kills itself at a named point; then another process on the same
// file that brings everything to its end; then a look at what the processes had
// acknowledged, what the tools did, and what the file says. A killed process leaves
// the kernel's cache behind: what this proves nothing about, the suite of power
// loss in store/boltstore does.

// life is one process, as its parent saw it.
type life struct {
	config childConfig
	lines  []line
	hits   map[string]int // nil: it died before its end
	killed bool           // by SIGKILL
	stderr string
	err    error
}

// live lets one process live and die.
func live(config childConfig) *life {
	l := &life{config: config}
	env, err := json.Marshal(config)
	if err != nil {
		l.err = err
		return l
	}
	self, err := os.Executable()
	if err != nil {
		l.err = err
		return l
	}
	ctx, cancel := context.WithTimeout(context.Background(), childTime+10*time.Second)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childEnv+"="+string(env), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = &stderr
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.err = err
		return l
	}
	if l.err = cmd.Start(); l.err != nil {
		return l
	}
	read := bufio.NewReader(out)
	for {
		text, err := read.ReadBytes('\n')
		if err != nil {
			break // half a line was never said
		}
		var said line
		if err := json.Unmarshal(text, &said); err != nil {
			l.err = errors.Join(l.err, fmt.Errorf("child said %q: %w", text, err))
			continue
		}
		if said.What == "hits" {
			l.hits = said.Hits
		}
		l.lines = append(l.lines, said)
	}
	err = cmd.Wait()
	l.stderr = stderr.String()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, ok := exit.Sys().(syscall.WaitStatus)
		l.killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL && ctx.Err() == nil
	}
	if err != nil && !l.killed {
		l.err = errors.Join(l.err, err)
	}
	return l
}

// atPoint reports whether the process died where it was to die.
func (l *life) atPoint() bool { return l.killed && l.hits == nil }

// failure says what went wrong in a life that is not its being killed at its point.
func (l *life) failure() error {
	err := l.err
	for _, said := range l.lines {
		if said.What == "failed" {
			err = errors.Join(err, errors.New(said.Error))
		}
	}
	if strings.Contains(l.stderr, "DATA RACE") || strings.Contains(l.stderr, "panic") {
		err = errors.Join(err, errors.New("see its output"))
	}
	if l.config.Point == "" && err == nil && (l.hits == nil || l.killed != (l.config.Phase == phaseWork)) {
		err = errors.New("it died before its end")
	}
	if err != nil {
		return fmt.Errorf("process %+v: %w\n%s", l.config, err, l.stderr)
	}
	return nil
}

// crashDir makes a folder in memory when there is one: what a killed process has
// written to a file is in the kernel's cache anyway.
func crashDir() (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("/dev/shm", "task-crash-"); err != nil {
		dir, err = os.MkdirTemp("", "task-crash-")
	}
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// spread is which of n hits of a point get a case.
func spread(n int) []int {
	cases := []int{1, 2, (n + 1) / 2, n}
	slices.Sort(cases)
	cases = slices.Compact(cases)
	return slices.DeleteFunc(cases, func(i int) bool { return i < 1 || i > n })
}

func TestCrash(t *testing.T) {
	t.Parallel()
	points := crashPoints(t)
	hits := unharmed()
	if hits.err != nil {
		t.Fatal(hits.err)
	}
	for _, p := range []phase{phaseWork, phaseFinish} {
		for _, point := range slices.Sorted(maps.Keys(points)) {
			for _, n := range spread(hits.by[p][point]) {
				t.Run(fmt.Sprintf("%s/%s/%d", p, point, n), func(t *testing.T) {
					t.Parallel()
					crash(t, childConfig{Phase: p, Point: point, N: n})
				})
			}
		}
	}
}

// crash plays one case. How often a point is passed is not the same in each run: a
// case that did not come about is played again for an earlier time. In the second
// process even the first time may not come.
func crash(t *testing.T, victim childConfig) {
	for {
		dir, remove, err := crashDir()
		if err != nil {
			t.Fatal(err)
		}
		lives, dead := crashOnce(t, dir, victim)
		if !t.Failed() && (dead || victim.N == 1) {
			if !dead && victim.Phase == phaseWork {
				t.Errorf("the point was not reached")
			}
			check(t, dir, lives)
		}
		if t.Failed() {
			for _, l := range lives {
				t.Logf("process %+v: killed %v\n%s", l.config, l.killed, l.stderr)
			}
		}
		remove()
		if t.Failed() || dead || victim.N == 1 {
			return
		}
		for _, l := range lives {
			if l.config.Point != "" {
				victim.N = max(1, min(victim.N-1, l.hits[victim.Point]*9/10))
			}
		}
	}
}

func crashOnce(t *testing.T, dir string, victim childConfig) (lives []*life, dead bool) {
	victim.Dir = dir
	plan := []childConfig{victim, {Dir: dir, Phase: phaseFinish}}
	if victim.Phase == phaseFinish {
		plan = slices.Insert(plan, 0, childConfig{Dir: dir, Phase: phaseWork})
	}
	for _, config := range plan {
		l := live(config)
		lives = append(lives, l)
		if err := l.failure(); err != nil {
			t.Errorf("%v", err)
			return lives, dead
		}
		dead = dead || config.Point != "" && l.atPoint()
	}
	return lives, dead
}
