package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// testElsewhere has clients ask for what somebody else approves, at the terminal of a
// server that was built with this one as a library, and shows what each client makes of
// the two states in which such a task may wait.
func testElsewhere(t *testing.T, p programs) {
	python := talker{name: "google-adk", command: []string{p.python["google-adk"], "python/google-adk/drive.py"}}
	golang := talker{name: "adk-go", command: []string{p.adkgo}}
	for _, c := range []struct {
		talker
		way, state string
		waits      bool // its turn ends when the task does
		decided    string
	}{
		{python, "remote", "input-required", false, "done"},
		{python, "remote", "auth-required", true, "done"},
		{golang, "whole", "input-required", false, "done"},
		{golang, "whole", "auth-required", false, "canceled"}, // by the client
		{golang, "stream", "input-required", false, "done"},
		{golang, "stream", "auth-required", true, "done"},
	} {
		t.Run(c.name+" "+c.way+" "+c.state, func(t *testing.T) {
			t.Parallel()
			url, say, hear := startElsewhere(t, p, c.state == "auth-required")
			tape := startTape(t)
			tape.lead(t, &server{url: url})
			turn := c.start(t, tape.url)
			turn(map[string]any{"start": c.way})
			tr := &transcript{tape: tape}
			ask := step{Say: []string{"/pay amount=5 to=bob"}}
			tr.person(ask.String())

			returned, decided := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(decided)
				id, _, _ := strings.Cut(hear(), " ")
				if !c.waits {
					<-returned
				}
				say("approve " + id)
				answer := hear()
				if !strings.Contains(answer, c.decided) {
					t.Errorf("whoever approves is told %q, want %q", answer, c.decided)
				}
			}()
			raw := string(turn(ask))
			close(returned)
			<-decided
			tr.wire(t)
			tr.shows(t, json.RawMessage(raw))
			if paid := strings.Contains(raw, "paid 5 to bob"); paid != c.waits {
				t.Errorf("the client shows %s; the result in it: %v, want %v", raw, paid, c.waits)
			}
			tr.check(t, c.name, "elsewhere-"+c.way+"-"+c.state)
		})
	}
}

// startElsewhere starts examples/elsewhere. say gives it a line, and hear returns the next
// one that it writes, "" after the last.
func startElsewhere(t *testing.T, p programs, authRequired bool) (url string, say func(string), hear func() string) {
	t.Helper()
	cmd := exec.Command(p.elsewhere, "-listen", "127.0.0.1:0", fmt.Sprintf("-auth-required=%v", authRequired))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("end the server: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	lines := bufio.NewScanner(stdout)
	hear = func() string {
		lines.Scan()
		return lines.Text()
	}
	say = func(line string) {
		if _, err := io.WriteString(stdin, line+"\n"); err != nil {
			t.Errorf("say %q: %v", line, err)
		}
	}
	return hear(), say, hear
}
