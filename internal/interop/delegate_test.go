package interop

import (
	"bufio"
	"bytes"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/google/go-cmp/cmp"
)

// testDelegation has agents of ADK, which are themselves served over A2A, delegate to two
// of our servers. One of ours is killed while it waits, and started again; the person
// answers the outer tasks, and these complete.
func testDelegation(t *testing.T, p programs) {
	folder := t.TempDir()
	leftTape, left := startTape(t), (*server)(nil)
	startLeft := func() {
		left = start(t, p.server, folder)
		leftTape.lead(t, left)
	}
	startLeft()
	rightTape, right := recorded(t, p)
	serving := [...]func() *sdkClient{serveOuter(t, p, "one", leftTape.url, rightTape.url), serveOuter(t, p, "both", leftTape.url, rightTape.url)}
	outer, chain := serving[0](), serving[1]()
	ctx, cancel := deadline(t) // they have taken what time they need to start
	defer cancel()

	one, two := send(ctx, t, outer, text("/transfer_money amount=5 to=left")), send(ctx, t, outer, text("/transfer_money amount=6 to=right"))
	// One outer task that delegates twice: the second bank is asked when the first has paid.
	twice := send(ctx, t, chain, text("/transfer_money amount=7 to=both"))
	left.kill(t)
	startLeft()
	for _, task := range []*a2a.Task{one, two} {
		done := send(ctx, t, outer, confirm(t, task, true))
		wantState(t, done, a2a.TaskStateCompleted)
		if said := artifactText(t, done); !strings.Contains(said, "transferred") {
			t.Errorf("the outer task says %q, want what was transferred in it", said)
		}
	}
	again := send(ctx, t, chain, confirm(t, twice, true))
	if again.ID != twice.ID {
		t.Errorf("the second question is of task %s, want %s, which asked the first", again.ID, twice.ID)
	}
	if diff := cmp.Diff([]transfer{{6, "right"}}, right.transfers(t)); diff != "" {
		t.Errorf("transfers of the second bank before it was answered (-want +got):\n%s", diff)
	}
	done := send(ctx, t, chain, confirm(t, again, true))
	wantState(t, done, a2a.TaskStateCompleted)
	if done.ID != twice.ID {
		t.Errorf("task %s is completed, want %s", done.ID, twice.ID)
	}
	if diff := cmp.Diff([]transfer{{5, "left"}, {7, "both"}}, left.transfers(t)); diff != "" {
		t.Errorf("transfers of the one that was killed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]transfer{{6, "right"}, {7, "both"}}, right.transfers(t)); diff != "" {
		t.Errorf("transfers of the other one (-want +got):\n%s", diff)
	}

	// What goes from the outer agent to ours.
	rightTape.take()
	for _, c := range conversations {
		if c.typed {
			continue
		}
		before := len(right.transfers(t))
		tr, task := &transcript{tape: rightTape}, (*a2a.Task)(nil)
		for _, step := range c.turns {
			tr.person(step.String())
			m := a2a.NewMessage(a2a.MessageRoleUser)
			for _, said := range step.Say {
				m.Parts = append(m.Parts, a2a.NewTextPart(said))
			}
			if step.Answer != nil {
				m = confirm(t, task, step.Answer...)
			}
			task = send(ctx, t, outer, m)
			tr.wire(t)
			tr.lines("the outer task is " + string(task.Status.State) + "\n" + artifactText(t, task))
		}
		tr.check(t, "google-adk-to-a2a", c.name)
		if diff := cmp.Diff(c.runs, right.transfers(t)[before:]); diff != "" {
			t.Errorf("%s: transfers (-want +got):\n%s", c.name, diff)
		}
	}
}

// confirm answers the questions of a task, in their order, as ADK's clients do.
func confirm(t *testing.T, task *a2a.Task, answers ...bool) *a2a.Message {
	t.Helper()
	wantState(t, task, a2a.TaskStateInputRequired)
	m := to(task, a2a.NewMessage(a2a.MessageRoleUser))
	for _, part := range task.Status.Message.Parts {
		call, ok := part.Data().(map[string]any)
		if !ok || call["name"] != "adk_request_confirmation" || len(m.Parts) == len(answers) {
			continue
		}
		answer := a2a.NewDataPart(map[string]any{"id": call["id"], "name": call["name"], "response": map[string]any{"confirmed": answers[len(m.Parts)]}})
		answer.Metadata = map[string]any{"adk_type": "function_response"}
		m.Parts = append(m.Parts, answer)
	}
	if len(m.Parts) != len(answers) {
		t.Fatalf("the task asks for %d confirmations, want %d: %+v", len(m.Parts), len(answers), task.Status.Message)
	}
	return m
}

// serveOuter starts an outer agent, and returns what waits until it listens.
func serveOuter(t *testing.T, p programs, how, left, right string) (listening func() *sdkClient) {
	t.Helper()
	cmd := exec.Command(p.python["google-adk"], "python/google-adk/outer.py", how, left, right)
	cmd.Env = quiet(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("end the outer agent: %v", err)
		}
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the outer agent ended with %v:\n%s", err, stderr.String())
		}
	})
	return func() *sdkClient {
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatalf("the outer agent does not say where it listens: %v", err)
		}
		return &sdkClient{
			url:      strings.TrimSpace(line),
			binding:  a2a.TransportProtocolJSONRPC,
			resolver: agentcard.NewResolver(&http.Client{}),
		}
	}
}
