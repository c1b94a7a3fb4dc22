//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A gated call of an agent behind an agent runs once after its approval, whichever of the three
// servers is killed, at whichever point: it is started again on its files, and the client and the
// other servers go on.

// agentsCases are the points at which each of the three servers dies, and how often it passes them
// before that. A point that is passed less often ends its list.
var agentsCases = []struct {
	point string
	times []int
}{
	{"task.created", []int{1}},
	{"task.launch", []int{1, 2}},
	{"task.chunks", []int{1, 2}},
	{"task.step", []int{1, 2}},
	{"task.kept", []int{1, 2, 3}},
	{"task.woken", []int{1}},
	{"boltstore.taken", []int{2, 4, 6, 8, 10, 12}},
	{"boltstore.committed", []int{1, 3, 5, 7, 9, 11, 13}},
}

// chained is one of the servers, which outlives its processes.
type chained struct {
	name, dir, listen string
	process           *process
}

func TestCrashOfAgents(t *testing.T) {
	t.Parallel()
	for victim, name := range []string{"top", "middle", "leaf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed := map[string]bool{}
			for _, c := range agentsCases {
				for _, n := range c.times {
					died := false
					t.Run(fmt.Sprintf("%s/%d", c.point, n), func(t *testing.T) { died = crashAgents(t, victim, fmt.Sprintf("%s:%d", c.point, n)) })
					if !died {
						break
					}
					passed[c.point] = true
				}
			}
			for _, point := range []string{"task.launch", "task.step", "boltstore.taken", "boltstore.committed"} {
				if !passed[point] {
					t.Errorf("no process was killed at %s", point)
				}
			}
		})
	}
}

// start starts a process of the server, at the place of the first.
func (s *chained) start(t *testing.T, crashAt string) {
	t.Helper()
	args := []string{"--data", s.dir, "--config", filepath.Join(s.dir, "config.yaml"), "--listen", s.listen}
	for range 20 {
		s.process = startProcess(t, crashAt, args...)
		p := s.process
		t.Cleanup(func() { p.end(syscall.SIGKILL) })
		if crashAt != "" || !p.dead() || !strings.Contains(p.said(), "address already in use") {
			break
		}
	}
	if s.process.dead() && crashAt == "" {
		t.Fatalf("%s does not start: %v\n%s", s.name, s.process.err, s.process.said())
	}
}

// freeAddress returns an address on which nothing listens now. The servers have to keep theirs.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// crashAgents plays a transfer through three servers, one of which dies at a point, and reports
// whether it did.
func crashAgents(t *testing.T, victim int, crashAt string) bool {
	servers := make([]*chained, 3)
	for i := 2; i >= 0; i-- {
		dir, err := os.MkdirTemp("/dev/shm", "a2a-server-agents-") //nolint:usetesting // T.TempDir is on a disk
		if err != nil {
			dir = t.TempDir()
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		servers[i] = &chained{name: []string{"top", "middle", "leaf"}[i], dir: dir, listen: freeAddress(t)}
		config := "tools:\n  - builtin: demo\n"
		if i < 2 {
			below := servers[i+1]
			config = fmt.Sprintf("tools:\n  - agent: %s\n    card: http://%s/.well-known/agent-card.json\n    networks: [127.0.0.0/8]\n    approve: false\n    description: Passes messages on\n", below.name, below.listen)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		at := ""
		if i == victim {
			at = crashAt
		}
		servers[i].start(t, at)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	died := false
	revive := func() {
		if v := servers[victim]; v.process.dead() {
			if !died && !v.process.killedBy(syscall.SIGKILL) {
				t.Fatalf("%s ended by itself: %v\n%s", v.name, v.process.err, v.process.said())
			}
			died = true
			v.start(t, "")
		}
	}
	unknown := false
	final, artifacts := "", ""
	answered := map[string]bool{}
	c := &client{url: "http://" + servers[0].listen, http: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
	for final == "" {
		if ctx.Err() != nil {
			t.Fatalf("the task does not end; the servers wrote:\n%s\n%s\n%s", servers[0].process.said(), servers[1].process.said(), servers[2].process.said())
		}
		revive()
		var sent struct{ Task *taskState }
		err := c.call(ctx, "SendMessage", object{
			"message":       object{"messageId": "the message", "role": "ROLE_USER", "parts": []any{object{"text": "/middle /leaf /transfer_money amount=5 to=bob"}}},
			"configuration": object{"returnImmediately": true},
		}, &sent)
		if err == nil && sent.Task == nil {
			t.Fatal("the answer is not a task")
		}
		if err == nil {
			var now struct {
				taskState
				Status struct {
					State   string
					Message struct {
						Parts    []struct{ Text string }
						Metadata map[string]json.RawMessage
					}
				}
			}
			if err = c.call(ctx, "GetTask", object{"id": sent.Task.ID}, &now); err == nil {
				state := &status{State: now.Status.State}
				state.Message.Metadata = now.Status.Message.Metadata
				if state.ended() {
					final = state.State
					for i := range now.Artifacts {
						artifacts += now.Artifacts[i].text()
					}
					break
				}
				err = answerAgents(ctx, c, sent.Task.ID, state, answered, &unknown)
			}
		}
		if rpc, is := errors.AsType[*rpcError](err); is && rpc.Code != -32602 && rpc.Code != -32004 {
			t.Fatal(err)
		}
		look := time.NewTimer(30 * time.Millisecond) // between looks, as a client polls
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	for _, s := range servers {
		if said := s.process.said(); strings.Contains(said, "panic") || strings.Contains(said, "DATA RACE") {
			t.Errorf("%s wrote:\n%s", s.name, said)
		}
	}
	raw, err := os.ReadFile(filepath.Join(servers[2].dir, "ledger.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	switch n := strings.Count(string(raw), "\n"); {
	case n > 1:
		t.Errorf("money was transferred %d times:\n%s", n, raw)
	case n == 0 && !unknown:
		t.Errorf("no money was transferred, and nobody was asked what came of a call; the task is %s", final)
	case final != completed && !unknown:
		t.Errorf("the task is %s, want %s", final, completed)
	}
	t.Logf("died: %v, asked for an outcome: %v, %s: %s", died, unknown, final, artifacts)
	return died
}

// answerAgents approves a call that has not run, and says of any other that it is given up.
func answerAgents(ctx context.Context, c *client, id string, now *status, answered map[string]bool, unknown *bool) error {
	var asked struct {
		Approvals []struct {
			ID, Kind string
			Payload  struct{ Kind string }
		}
	}
	if raw := now.Message.Metadata["urn:a2a-server:extension:tool-approval:v1"]; raw != nil {
		if err := json.Unmarshal(raw, &asked); err != nil {
			return err
		}
	}
	for _, q := range asked.Approvals {
		if answered[q.ID] {
			continue
		}
		decision := object{"id": q.ID, "decision": "approve"}
		if q.Kind == "outcome" || q.Payload.Kind == "outcome" {
			*unknown = true
			decision["decision"] = "reject"
		}
		err := c.call(ctx, "SendMessage", object{
			"message": object{
				"messageId": "decision about " + q.ID, "taskId": id, "role": "ROLE_USER",
				"parts": []any{object{"data": object{"type": "approval_response", "decisions": []any{decision}}}},
			},
			"configuration": object{"returnImmediately": true},
		}, &struct{}{})
		if err != nil {
			return err
		}
		answered[q.ID] = true
	}
	return nil
}
