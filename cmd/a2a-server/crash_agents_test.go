//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"a2a-server/internal/modeltest"
)

var crashLong = flag.Bool("crash.long", false, "TestKilled: every case; TestKilledAgents: kill each server at each point of each play; minutes")

// A gated call of an agent behind an agent runs as its decision says, whichever of the servers is
// killed, at whichever point: it is started again on its files, and the client and the other servers
// go on. The call runs once after approve, with the edited arguments after edit, and never after
// reject, cancel and expiry.

// agentsPlay is what a client does with the first of some servers, each an agent of the one before.
type agentsPlay struct {
	name     string
	servers  []string // their names, the client's first
	text     string   // that the client sends
	decision object   // about the call; nil: nobody decides
	cancel   bool     // the client cancels the task when it asks
	leaf     string   // more configuration of the last server
	reach    string   // more of the entry with which the server before it reaches it
	model    bool     // a model plans the first server's task, and hands it over
	final    string   // state of the task, if no outcome was unknown
	pays     string   // what the ledger's only line has; "": nothing runs
	only     string   // the only server that dies in the short form; "": each
	points   []agentsPoint
}

// agentsPoint is a point at which a server dies, and how often it passes it before. A point that is
// passed less often ends its list.
type agentsPoint struct {
	name  string
	times []int
}

const throughTwo = "/middle /leaf /transfer_money amount=5 to=bob"

func agentsPlays() []*agentsPlay {
	three := []string{"top", "middle", "leaf"}
	// In the short form most decisions are made over the death of the server that both is an agent and
	// has one. What the others do then is what approve shows, and internal/kinds of the call itself.
	const both = "middle"
	after := []agentsPoint{{"task.kept", []int{3}}, {"task.step", []int{2}}, {"task.launch", []int{1}}, {"boltstore.committed", []int{3, 5, 7}}}
	return []*agentsPlay{
		{name: "approve", servers: three, text: throughTwo, decision: object{"decision": "approve"}, final: completed, pays: "bob", points: []agentsPoint{
			{"task.created", []int{1}}, {"task.launch", []int{1, 2}}, {"task.chunks", []int{1}}, {"task.step", []int{1, 2}}, {"task.kept", []int{1, 2, 3}},
			{"task.woken", []int{1}}, {"boltstore.taken", []int{4, 8}}, {"boltstore.committed", []int{3, 7}},
		}},
		{name: "edit", servers: three, only: both, text: throughTwo, decision: object{"decision": "edit", "arguments": object{"amount": 4, "to": "eve"}}, final: completed, pays: "eve", points: after},
		{name: "reject", servers: three, only: both, text: throughTwo, decision: object{"decision": "reject", "reason": "too much"}, final: "TASK_STATE_FAILED", points: after},
		{name: "cancel", servers: three, only: both, text: throughTwo, cancel: true, final: canceled, points: []agentsPoint{{"task.step", []int{1, 2}}, {"boltstore.committed", []int{2, 4, 6, 7}}}},
		{name: "expire", servers: three, only: both, text: throughTwo, leaf: "gates:\n  - {tool: transfer_money, expires: 500ms}\n", final: "TASK_STATE_FAILED", points: []agentsPoint{{"task.step", []int{1}}, {"boltstore.committed", []int{2, 4}}}},
		{name: "transfer", servers: []string{"top", "bank"}, model: true, text: "/transfer_money amount=5 to=bob", decision: object{"decision": "approve"}, final: completed, pays: "bob", points: []agentsPoint{
			{"task.launch", []int{1, 2}}, {"task.step", []int{1, 2}}, {"task.kept", []int{2, 3}}, {"boltstore.committed", []int{4, 6}},
		}},
	}
}

func TestKilledAgents(t *testing.T) {
	t.Parallel()
	for victim, name := range wordsPlay().servers {
		t.Run("words/"+name, func(t *testing.T) {
			t.Parallel()
			killedWords(t, victim)
		})
		t.Run("elsewhere/"+name, func(t *testing.T) {
			t.Parallel()
			killedWaiting(t, victim)
		})
	}
	for _, play := range agentsPlays() {
		for victim, name := range play.servers {
			if play.only != "" && name != play.only && !*crashLong {
				continue
			}
			t.Run(play.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				all := 0
				for _, p := range play.points {
					if *crashLong {
						p.times = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
					}
					for _, n := range p.times {
						died := false
						t.Run(fmt.Sprintf("%s/%d", p.name, n), func(t *testing.T) { died = crashAgents(t, play, victim, fmt.Sprintf("%s:%d", p.name, n)) })
						if !died {
							break
						}
						all++
					}
				}
				if all == 0 {
					t.Error("the server was killed at no point")
				}
			})
		}
	}
}

// chained is one of the servers, which outlives its processes.
type chained struct {
	name, dir, listen string
	process           *process
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

// addresses counts those of freeAddress.
var addresses atomic.Uint32

// freeAddress returns an address of this machine that no other test gets. The servers have to keep
// theirs, so that it is none of 127.0.0.1, where every connection takes a port.
func freeAddress(t *testing.T) string {
	t.Helper()
	n := addresses.Add(1)
	l, err := net.Listen("tcp", fmt.Sprintf("127.1.%d.%d:0", n/200, 1+n%200))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// agentsRun is a play with one death.
type agentsRun struct {
	*testing.T
	*agentsPlay

	servers []*chained
	victim  *chained
	model   *modeltest.Endpoint
	http    *http.Client

	died     bool
	unknown  bool // somebody was asked for an outcome
	answered map[string]bool
}

// startAgents starts the servers of a play, one of which dies at a point if there is one.
func startAgents(t *testing.T, play *agentsPlay, victim int, crashAt string) *agentsRun {
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	r := &agentsRun{
		T: t, agentsPlay: play, servers: make([]*chained, len(play.servers)), answered: map[string]bool{},
		http: &http.Client{Transport: transport, Timeout: 10 * time.Second},
	}
	for i := len(r.servers) - 1; i >= 0; i-- {
		r.servers[i] = r.newServer(i)
	}
	r.victim = r.servers[victim]
	for i := len(r.servers) - 1; i >= 0; i-- {
		at := ""
		if i == victim {
			at = crashAt
		}
		r.servers[i].start(t, at)
	}
	return r
}

// crashAgents plays a play whose victim dies at a point, and reports whether it did.
func crashAgents(t *testing.T, play *agentsPlay, victim int, crashAt string) bool {
	r := startAgents(t, play, victim, crashAt)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	final, artifacts := r.play(ctx)
	if r.cancel {
		r.settle(ctx)
	}
	r.check(final)
	t.Logf("died: %v, asked for an outcome: %v, %s: %s", r.died, r.unknown, final, artifacts)
	return r.died
}

// newServer makes the files of a server; those below it are there.
func (r *agentsRun) newServer(i int) *chained {
	r.Helper()
	dir := r.TempDir()
	s := &chained{name: r.agentsPlay.servers[i], dir: dir, listen: freeAddress(r.T)}
	config := "tools:\n  - builtin: demo\n" + r.leaf
	if i < len(r.servers)-1 {
		below := r.servers[i+1]
		config = fmt.Sprintf("tools:\n  - agent: %s\n    card: http://%s/.well-known/agent-card.json\n    networks: [127.0.0.0/8]\n    approve: false\n    description: Passes messages on\n", below.name, below.listen)
	}
	if i == len(r.servers)-2 {
		config += r.reach
	}
	if i == 0 && r.agentsPlay.model {
		r.model = &modeltest.Endpoint{Model: "m", Answer: func(*modeltest.Request) modeltest.Answer {
			return modeltest.Answer{Text: "The bank does that.", Calls: []modeltest.Call{{Name: "transfer_to_bank", Args: "{}"}}}
		}}
		endpoint := httptest.NewServer(r.model)
		r.Cleanup(endpoint.Close)
		config += "    transfer: true\nplanner: {kind: llm, llm: {url: " + endpoint.URL + "/v1, model: m}}\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
		r.Fatal(err)
	}
	return s
}

// revive starts the victim again if it has died.
func (r *agentsRun) revive() {
	if v := r.victim; v.process.dead() {
		if !r.died && !v.process.killedBy(syscall.SIGKILL) {
			r.Fatalf("%s ended by itself: %v\n%s", v.name, v.process.err, v.process.said())
		}
		r.died = true
		v.start(r.T, "")
	}
}

func (r *agentsRun) client(s *chained) *client {
	return &client{url: "http://" + s.listen, http: r.http}
}

// pause waits between looks, as a client polls.
func (r *agentsRun) pause(ctx context.Context, what string) {
	r.Helper()
	look := time.NewTimer(30 * time.Millisecond)
	defer look.Stop()
	select {
	case <-look.C:
	case <-ctx.Done():
		for _, s := range r.servers {
			r.Logf("%s wrote:\n%s", s.name, s.process.said())
		}
		r.Fatal(what)
	}
}

// play sends the message until it is taken, and does what the play says until the task ends.
func (r *agentsRun) play(ctx context.Context) (final, artifacts string) {
	c := r.client(r.servers[0])
	for {
		r.revive()
		var sent struct{ Task *taskState }
		err := c.call(ctx, "SendMessage", object{
			"message":       object{"messageId": "the message", "role": "ROLE_USER", "parts": []any{object{"text": r.text}}},
			"configuration": object{"returnImmediately": true},
		}, &sent)
		if err == nil && sent.Task == nil {
			r.Fatal("the answer is not a task")
		}
		if err == nil {
			var now taskState
			if err = c.call(ctx, "GetTask", object{"id": sent.Task.ID}, &now); err == nil {
				if now.Status.ended() {
					for i := range now.Artifacts {
						artifacts += now.Artifacts[i].text()
					}
					return now.Status.State, artifacts
				}
				err = r.answer(ctx, c, sent.Task.ID, &now.Status)
			}
		}
		if rpc, is := errors.AsType[*rpcError](err); is && rpc.Code != -32602 && rpc.Code != -32004 {
			r.Fatal(err)
		}
		r.pause(ctx, "the task does not end")
	}
}

// answer decides about a call that has not run, and says of any other that it is given up.
func (r *agentsRun) answer(ctx context.Context, c *client, id string, now *status) error {
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
		if r.answered[q.ID] {
			continue
		}
		if r.cancel {
			return c.call(ctx, "CancelTask", object{"id": id}, &struct{}{})
		}
		decision := maps.Clone(r.decision)
		if q.Kind == "outcome" || q.Payload.Kind == "outcome" {
			r.unknown = true
			decision = object{"decision": "reject"}
		}
		if decision == nil {
			continue
		}
		decision["id"] = q.ID
		if err := decideAgents(ctx, c, id, decision); err != nil {
			return err
		}
		r.answered[q.ID] = true
	}
	return nil
}

func decideAgents(ctx context.Context, c *client, id string, decision object) error {
	return c.call(ctx, "SendMessage", object{
		"message": object{
			"messageId": fmt.Sprint("decision about ", decision["id"]), "taskId": id, "role": "ROLE_USER",
			"parts": []any{object{"data": object{"type": "approval_response", "decisions": []any{decision}}}},
		},
		"configuration": object{"returnImmediately": true},
	}, &struct{}{})
}

// settle waits until a canceled task has canceled those of the servers below, so that nobody can
// approve their calls.
func (r *agentsRun) settle(ctx context.Context) {
	for _, s := range r.servers[1:] {
		for {
			r.revive()
			var page struct{ Tasks []taskState }
			err := r.client(s).call(ctx, "ListTasks", object{}, &page)
			open := 0
			for i := range page.Tasks {
				if !page.Tasks[i].Status.ended() {
					open++
				}
			}
			if err == nil && open == 0 {
				break
			}
			r.pause(ctx, "a task goes on at "+s.name+" although its caller was canceled")
		}
	}
}

// check compares the end with the play.
func (r *agentsRun) check(final string) {
	for _, s := range r.servers {
		if said := s.process.said(); strings.Contains(said, "panic") || strings.Contains(said, "DATA RACE") {
			r.Errorf("%s wrote:\n%s", s.name, said)
		}
	}
	raw, err := os.ReadFile(filepath.Join(r.servers[len(r.servers)-1].dir, "ledger.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.Fatal(err)
	}
	ledger := string(raw)
	switch n := strings.Count(ledger, "\n"); {
	case n > 1 || n == 1 && (r.pays == "" || !strings.Contains(ledger, r.pays)):
		r.Errorf("after %s the ledger is:\n%s", r.name, ledger)
	case n == 0 && r.pays != "" && !r.unknown:
		r.Errorf("no money was transferred, and nobody was asked what came of a call; the task is %s", final)
	case final != r.final && !r.unknown:
		r.Errorf("the task is %s, want %s", final, r.final)
	}
	if r.model != nil {
		// A step that is in the log is not asked for again, and nothing follows the handover.
		for _, q := range r.model.Requests() {
			if q.Last().Role != "user" {
				r.Errorf("the model was asked again, after %+v", q.Last())
			}
		}
		if n := len(r.model.Requests()); n < 1 || n > 2 || n == 2 && r.victim != r.servers[0] {
			r.Errorf("the model was asked %d times", n)
		}
	}
}
