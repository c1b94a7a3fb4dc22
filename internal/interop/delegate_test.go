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

// testDelegation has an agent of ADK, which is itself served over A2A, delegate to two
// of our servers. Both ask; one of them is killed while it waits, and started again; the
// person answers the outer tasks, and these complete.
func testDelegation(t *testing.T, p programs) {
	ctx, cancel := deadline(t)
	defer cancel()
	folder := t.TempDir()
	leftTape, left := startTape(t), (*server)(nil)
	startLeft := func() {
		left = start(t, p.server, folder)
		leftTape.lead(t, left)
	}
	startLeft()
	rightTape, right := recorded(t, p)
	outer := &sdkClient{
		url:      serveOuter(t, p, leftTape.url, rightTape.url),
		binding:  a2a.TransportProtocolJSONRPC,
		resolver: agentcard.NewResolver(&http.Client{}),
	}

	one, two := send(ctx, t, outer, text("/transfer_money amount=5 to=left")), send(ctx, t, outer, text("/transfer_money amount=6 to=right"))
	left.kill(t)
	startLeft()
	for _, task := range []*a2a.Task{one, two} {
		done := send(ctx, t, outer, confirm(t, task, true))
		wantState(t, done, a2a.TaskStateCompleted)
		if said := artifactText(t, done); !strings.Contains(said, "transferred") {
			t.Errorf("the outer task says %q, want what was transferred in it", said)
		}
	}
	if diff := cmp.Diff([]transfer{{5, "left"}}, left.transfers(t)); diff != "" {
		t.Errorf("transfers of the one that was killed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]transfer{{6, "right"}}, right.transfers(t)); diff != "" {
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

// serveOuter starts the outer agent and returns its URL.
func serveOuter(t *testing.T, p programs, left, right string) string {
	t.Helper()
	cmd := exec.Command(p.python["google-adk"], "python/google-adk/outer.py", left, right)
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
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the outer agent does not say where it listens: %v", err)
	}
	return strings.TrimSpace(line)
}
