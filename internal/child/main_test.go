//go:build linux || darwin

package child_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"a2a-server/internal/child"
)

const (
	roleVariable  = "CHILD_TEST_ROLE"          // makes the test binary behave as one of roles
	readyVariable = "CHILD_TEST_READY"         // descriptor 3 is closed when it is ready
	quickly       = "GORACE=atexit_sleep_ms=0" // the race detector waits a second for reports
)

// roles are the programs that the tests start.
var roles = map[string]func(){
	"environment": func() { fmt.Println(strings.Join(os.Environ(), "\n")) },
	"arguments":   func() { fmt.Printf("%q\n", os.Args) },
	"folder":      func() { dir, _ := os.Getwd(); fmt.Println(dir) },
	"copy":        func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"files":       func() { _, _ = io.Copy(os.Stdout, os.NewFile(3, "file")) },
	"both":        func() { fmt.Print("out"); fmt.Fprint(os.Stderr, "err") },
	"exit 7":      func() { os.Exit(7) },
	"abort":       func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); forever() },
	"forever":     forever,
	"stubborn":    func() { signal.Ignore(syscall.SIGTERM); fmt.Println("ready"); tellReady(); forever() },
	"polite": func() {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		fmt.Println("ready")
		<-told
		fmt.Println("bye")
	},
	// a process of the same group that keeps the output open
	"parent": func() { fmt.Println(offspring("stubborn", false /* detached */)) },
	// a parent that waits
	"waiting parent": func() { fmt.Println(offspring("stubborn", false /* detached */)); forever() },
	// a process that has left the group and keeps the output open
	"daemon": func() { fmt.Println(offspring("forever", true /* detached */)) },
	// one that writes without end
	"endless daemon": func() { offspring("endless", true /* detached */) },
	"endless": func() {
		for {
			if _, err := fmt.Println("more"); err != nil {
				return
			}
		}
	},
	// a process that fills its pipe and exits
	"full": func() { fmt.Print(strings.Repeat("x", 60_000)) },
	// a server that dies while it has a child
	"server": func() {
		p, err := child.Start(command("forever"))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Pid())
		forever()
	},
	"reaper": reaper,
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		role()
		return
	}
	goleak.VerifyTestMain(m)
}

func forever() { time.Sleep(time.Hour) }

// tellReady tells the process that started us as its offspring.
func tellReady() {
	if os.Getenv(readyVariable) != "" {
		_ = os.NewFile(3, "ready").Close()
	}
}

// offspring starts another role and returns its id once it is ready.
func offspring(role string, detached bool) int {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p, err := os.StartProcess(self, []string{self}, &os.ProcAttr{
		Env: []string{roleVariable + "=" + role, readyVariable + "=3", quickly}, Files: []*os.File{os.Stdin, os.Stdout, nil, w},
		Sys: &syscall.SysProcAttr{Setsid: detached},
	})
	if err != nil {
		panic(err)
	}
	_ = w.Close()
	if role == "stubborn" {
		_, _ = io.ReadAll(r)
	}
	_ = r.Close()
	return p.Pid
}

// command is a command that runs a role in an environment that has nothing else.
func command(role string) child.Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return child.Command{Argv: []string{self}, Env: []string{roleVariable + "=" + role, quickly}, Stdout: true}
}

func start(t *testing.T, c child.Command) *child.Process {
	t.Helper()
	p, err := child.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// all reads an output to its end.
func all(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Errorf("the output ended with %v", err)
	}
	return string(text)
}

// line reads one line, and nothing after it.
func line(t *testing.T, r io.Reader) string {
	t.Helper()
	var text []byte
	for !bytes.HasSuffix(text, []byte("\n")) {
		var one [1]byte
		if _, err := io.ReadFull(r, one[:]); err != nil {
			t.Fatalf("no line: %q, %v", text, err)
		}
		text = append(text, one[0])
	}
	return strings.TrimSpace(string(text))
}

// gone waits until a process does not run any more; a zombie does not.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for running(pid) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d still runs", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || runtime.GOOS != "linux"
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return !slices.Contains([]string{"Z", "X"}, fields[0])
}
