//go:build linux || darwin

package commandtool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/tool"
	"a2a-server/tool/commandtool"
)

func serve(t *testing.T, c commandtool.Config) *a2aservertest.Server {
	t.Helper()
	return a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("commands", build(t, c))}})
}

func send(s *a2aservertest.Server, args map[string]any) *a2a.Task {
	return s.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": "it", "args": args})))
}

// whole is everything that a client can read of a task.
func whole(t *testing.T, of *a2a.Task) string {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// In a server, a command waits for its approval, whose question shows it, and runs once.
func TestApprovedCommand(t *testing.T) {
	t.Parallel()
	ledger := filepath.Join(t.TempDir(), "ledger")
	c := script(`echo "$1" >>"$2"; echo "paid $1"`, "{amount}", ledger)
	c.Args = map[string]commandtool.Arg{"amount": {Type: "integer"}}
	s := serve(t, c)
	asked := send(s, map[string]any{"amount": 5})
	pending := s.Pending(asked)
	if len(pending) != 1 || !strings.HasSuffix(pending[0].Hint, " sh 5 "+ledger) {
		t.Fatalf("pending = %+v", pending)
	}
	if _, err := os.Stat(ledger); err == nil {
		t.Fatal("it ran before it was approved")
	}
	s.Approve(asked)
	done := s.Wait(asked.ID, a2a.TaskStateCompleted)
	if text := s.Text(done); text != "paid 5\n" {
		t.Errorf("the result is %s", text)
	}
	if paid, err := os.ReadFile(ledger); string(paid) != "5\n" {
		t.Errorf("the ledger has %q, %v", paid, err)
	}
}

// A command whose time is up is ended, and nobody claims to know what it did.
func TestUnknownCommand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	for _, readOnly := range []bool{false, true} {
		c := script(`echo $$ >"$1"; sleep 1000`, file)
		c.Approve, c.Timeout, c.Annotations.ReadOnly = new(false), 3*time.Second, readOnly
		s := serve(t, c)
		want := a2a.TaskStateInputRequired
		if readOnly {
			want = a2a.TaskStateFailed
		}
		ended := send(s, nil)
		if ended.Status.State != want {
			t.Errorf("read-only %v: the task is %s: %s", readOnly, ended.Status.State, s.Text(ended))
		}
		if text := whole(t, ended); !strings.Contains(text, "it took longer than 3s") {
			t.Errorf("read-only %v: it says %s", readOnly, text)
		}
		text, err := os.ReadFile(file)
		pid, notNumber := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || notNumber != nil {
			t.Fatal(err, notNumber)
		}
		gone(t, pid)
	}
}

// A command that prints as much as it may fits into the limits of a server, line by line.
func TestMuchOutputInServer(t *testing.T) {
	t.Parallel()
	c := script("yes 123456789 | head -c 2000000")
	c.Approve = new(false)
	done := send(serve(t, c), nil)
	if done.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the task is %s", done.Status.State)
	}
}
