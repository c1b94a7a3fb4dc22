//go:build linux || darwin

package commandtool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"a2a-server/tool"
	"a2a-server/tool/commandtool"
)

// roleVariable makes the test binary behave as one of roles.
const roleVariable = "COMMANDTOOL_TEST_ROLE"

// roles are commands that no ordinary program is.
var roles = map[string]func(){
	"arguments": func() { fmt.Printf("%q", os.Args[1:]) },
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(os.Getpid())
		time.Sleep(time.Hour)
	},
	// writes the text of its arguments, one piece at a time, as fast as it is told to
	"write": func() {
		times, err := strconv.Atoi(os.Args[1])
		if err != nil {
			panic(err)
		}
		for range times {
			if _, err := io.WriteString(os.Stdout, os.Args[2]); err != nil {
				os.Exit(3)
			}
		}
	},
	// a process that leaves the group and keeps the output open
	"daemon": func() {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{
			Files: []*os.File{nil, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(p.Pid)
	},
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		role()
		return
	}
	goleak.VerifyTestMain(m)
}

const path = "/usr/local/bin:/usr/bin:/bin"

// role makes a command of the test binary itself.
func role(t testing.TB, name string, args ...string) commandtool.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return commandtool.Config{
		Name: "it", Run: append([]string{self}, args...),
		Env: map[string]string{roleVariable: name, "GORACE": "atexit_sleep_ms=0"},
	}
}

// script makes a command of /bin/sh. The arguments of a call are $1, $2 and so on.
func script(text string, args ...string) commandtool.Config {
	return commandtool.Config{
		Name: "it", Run: append([]string{"/bin/sh", "-c", text, "sh"}, args...),
		Env: map[string]string{"PATH": path},
	}
}

// stepwise makes a command of /bin/sh in which "seen n" waits until n pieces have been
// published. see says so, for each piece.
func stepwise(t testing.TB, text string) (c commandtool.Config, see func(*tool.Result)) {
	t.Helper()
	dir, n := t.TempDir(), 0
	c = script(`dir=$1; seen() { until [ -e "$dir/$1" ]; do sleep 0.01; done; }; `+text, dir)
	return c, func(r *tool.Result) {
		if !r.Streaming {
			return
		}
		n++
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(n)), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

func build(t testing.TB, c commandtool.Config) tool.StreamingTool {
	t.Helper()
	it, err := commandtool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// call is the context of a call; what the tool does not use is not there.
type call struct {
	context.Context //nolint:containedctx // it is one
	others

	task, id string
}

// others are the methods that the tool does not call.
type others struct{ tool.Context }

func (c call) TaskID() string         { return c.task }
func (c call) FunctionCallID() string { return c.id }

// ran is what came of a call.
type ran struct {
	out, err string // what was published of the two streams
	pieces   int
	final    map[string]any
	failed   error
	dropped  any // of the metadata
}

// run runs a call to its end. each is called with every piece.
func run(ctx context.Context, it tool.StreamingTool, args map[string]any, each ...func(*tool.Result)) (got ran) {
	var out, stderr strings.Builder
	for r, err := range it.CallStreaming(call{Context: ctx, task: "task", id: "call"}, args) {
		text := ""
		if err == nil {
			text, _ = r.Content.(string)
		}
		switch {
		case err != nil:
			got.failed = errors.Join(got.failed, err)
		case !r.Streaming:
			got.final, _ = r.Content.(map[string]any)
		case r.Metadata["dropped"] != nil:
			got.dropped = r.Metadata["dropped"]
		case r.Metadata["stream"] == "stderr":
			stderr.WriteString(text)
			got.pieces++
		default:
			out.WriteString(text)
			got.pieces++
		}
		if err == nil {
			for _, f := range each {
				f(r)
			}
		}
	}
	got.out, got.err = out.String(), stderr.String()
	return got
}

// gone waits until a process does not run any more.
func gone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for alive(pid) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d still runs", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
