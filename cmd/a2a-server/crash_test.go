//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// This is the suite of process death with the real program: clients drive it over
// HTTP, it is killed at a named point, and started again on the same files, until
// all is at its end. Then what the clients were told, what the tools did and what the
// server says now have to fit. What a loss of power adds to this, the tests of
// store/boltstore look at.

func TestKilled(t *testing.T) {
	t.Parallel()
	for _, point := range slices.Sorted(maps.Keys(crashCases)) {
		play := crash
		if other := plays[strings.Split(point, ".")[0]]; other != nil {
			play = other
		}
		cases := crashCases[point]
		for i, c := range cases {
			if i > 0 && i < len(cases)-1 && c.like(cases[i-1]) && c.like(cases[i+1]) && !*crashLong {
				continue // neither the first nor the last
			}
			c.point = point
			name := fmt.Sprintf("%s/%d", point, c.n)
			if c.late {
				name += "/late"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for !play(t, c) && !t.Failed() {
					if c.n == 1 {
						t.Fatal("the server did not pass the point")
					}
					c.n = max(1, c.n*2/3)
				}
			})
		}
	}
}

// crash plays one case and reports whether the server died at its point.
func crash(t *testing.T, c crashCase) bool {
	w := newWorld(t, c)
	if c.late {
		if p := w.live("", true /* cut */); !p.killedBy(syscall.SIGKILL) {
			t.Errorf("the first process was not killed: %v", p.err)
		}
	}
	p := w.live(fmt.Sprintf("%s:%d", c.point, c.n), false /* cut */)
	if t.Failed() || !p.dead() {
		p.end(syscall.SIGKILL)
		return false
	}
	if !p.killedBy(syscall.SIGKILL) {
		t.Errorf("the server ended by itself: %v\n%s", p.err, p.said())
		return false
	}
	p = w.live("", false /* cut */)
	if !t.Failed() && !p.dead() {
		w.examine(p)
	}
	p.end(syscall.SIGTERM)
	if p.err != nil {
		t.Errorf("the last process did not end as told: %v", p.err)
	}
	checkAudit(t, w.dir)
	if t.Failed() {
		t.Logf("the last process wrote:\n%s", p.said())
	}
	return true
}

// world is what outlives the processes of one case.
type world struct {
	*testing.T
	dir    string
	args   []string
	scenes []*scene
	hooks  *hooks
	lives  int
}

func newWorld(t *testing.T, c crashCase) *world {
	dir := t.TempDir() // on a disk, where the space that a store takes ahead costs nothing
	file := filepath.Join(dir, "config.yaml")
	w := &world{T: t, dir: dir, args: []string{"--data", dir, "--config", file}, scenes: newScenes(c.gated), hooks: newHooks(t)}
	for i, s := range w.scenes {
		s.hook = fmt.Sprintf("%s/%d", w.hooks.URL, i)
	}
	config := "push: {enabled: true, allow_http: true, allow_loopback: true}\n"
	if c.gated && !c.reminds {
		config += "gates:\n  - {tool: echo, expires: 30ms}\n"
	}
	if c.reminds {
		secret := filepath.Join(dir, "secret")
		if err := os.WriteFile(secret, []byte("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"), 0o600); err != nil {
			t.Fatal(err)
		}
		config += "gates:\n  - {tool: echo, expires: 3s, remind: 10ms, escalate: {after: 20ms, notify: [ops]}}\n" +
			fmt.Sprintf("notify:\n  - {name: ops, kind: webhook, url: %q, secret: {file: %q}, networks: [127.0.0.0/8], events: [reminded], all: true}\n", w.hooks.URL+"/ops", secret)
	}
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// live runs one process until every scene is where it may be left, or it is dead. cut
// kills it in the middle of a stream.
func (w *world) live(crashAt string, cut bool) *process {
	w.Helper()
	w.lives++
	p := startProcess(w.T, crashAt, w.args...)
	w.Cleanup(func() { p.end(syscall.SIGKILL) })
	if p.dead() && crashAt == "" {
		w.Fatalf("the server does not start: %v\n%s", p.err, p.said())
	}
	if p.url == "" {
		return p
	}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	var scenes sync.WaitGroup
	for _, s := range w.scenes {
		s.seen = nil
		if cut && s.name == "stream" {
			s.seen = func(events int) {
				if events == 15 {
					p.end(syscall.SIGKILL)
				}
			}
		}
		scenes.Go(func() { w.play(ctx, p, s, crashAt != "" || cut) })
	}
	scenes.Wait()
	if strings.Contains(p.said(), "DATA RACE") || strings.Contains(p.said(), "panic") {
		w.Errorf("the server wrote:\n%s", p.said())
	}
	checkLedger(w.T, w.dir, w.scenes)
	return p
}

// play plays a scene with a process. Only the death of one that is to die excuses an
// error.
func (w *world) play(ctx context.Context, p *process, s *scene, dies bool) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &client{url: p.url, http: &http.Client{Transport: transport}}
	err := s.play(ctx, c, dies && w.lives == 1)
	if err == nil {
		return
	}
	var answered *rpcError
	if dies && !errors.As(err, &answered) {
		select {
		case <-p.exited:
			return
		case <-ctx.Done():
		}
	}
	w.Errorf("process %d, scene %s, task %s: %v", w.lives, s.name, s.id, err)
}

// examine looks at everything when all scenes are at their end.
func (w *world) examine(p *process) {
	w.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for _, s := range w.scenes {
		if s.unknown {
			w.Logf("scene %s was asked what came of its call", s.name)
		}
	}
	checkEnd(ctx, w.T, &client{url: p.url, http: &http.Client{Transport: transport}}, w.scenes)
	for i, s := range w.scenes {
		w.hooks.check(ctx, w.T, fmt.Sprintf("/%d", i), s)
	}
}
