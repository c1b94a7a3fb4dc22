//go:build linux || darwin

package child_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/internal/child"
)

// soon is longer than anything here takes, and shorter than what would mean that it hangs.
const soon = time.Minute

func ended(t *testing.T, p *child.Process) child.End {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(soon):
		t.Fatal("the process did not end")
	}
	return p.End()
}

// Nothing of our own environment reaches a child, not even by default.
func TestEnvironment(t *testing.T) {
	t.Setenv("CHILD_TEST_SECRET", "do not tell")
	c := command("environment")
	c.Env = append(c.Env, "A=1", "B=x=y")
	if got, want := all(t, start(t, c).Stdout), strings.Join(c.Env, "\n")+"\n"; got != want {
		t.Errorf("the environment is %q, want %q", got, want)
	}
	if got := all(t, start(t, child.Command{Argv: []string{"/usr/bin/env"}, Stdout: true}).Stdout); got != "" {
		t.Errorf("without Env, the environment is %q", got)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	c := command("arguments")
	c.Argv = append(c.Argv, "", "a b", "$(id)", "`id`", "'\"\\", "line\nbreak", "-rf", "é\xff", "*", strings.Repeat("x", 100_000))
	want := strings.Builder{}
	want.WriteString("[")
	for i, arg := range c.Argv {
		if i > 0 {
			want.WriteString(" ")
		}
		want.WriteString(strconv.Quote(arg))
	}
	want.WriteString("]\n")
	if got := all(t, start(t, c).Stdout); got != want.String() {
		t.Errorf("the arguments are %.300s, want %.300s", got, want.String())
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	c := command("folder")
	c.Dir = t.TempDir()
	if got := strings.TrimSpace(all(t, start(t, c).Stdout)); filepath.Base(got) != filepath.Base(c.Dir) {
		t.Errorf("the folder is %q, want %q", got, c.Dir)
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	c := command("copy")
	c.Stdin = true
	p := start(t, c)
	if _, err := io.WriteString(p.Stdin, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := p.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if got := all(t, p.Stdout); got != "hello" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff(child.End{}, ended(t, p)); diff != "" {
		t.Errorf("End (-want +got):\n%s", diff)
	}

	c = command("both")
	c.Stderr = true
	p = start(t, c)
	if out, err := all(t, p.Stdout), all(t, p.Stderr); out != "out" || err != "err" {
		t.Errorf("got %q and %q", out, err)
	}

	// Without a pipe, input is empty.
	if got := all(t, start(t, command("copy")).Stdout); got != "" {
		t.Errorf("the input had %q", got)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	c := command("files")
	c.Files = []*os.File{f}
	p := start(t, c)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := all(t, p.Stdout); got != "contents" {
		t.Errorf("got %q", got)
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]child.End{
		"exit 7": {Code: 7},
		"abort":  {Code: -1, Signal: "killed"},
	} {
		p := start(t, command(role))
		all(t, p.Stdout)
		if diff := cmp.Diff(want, ended(t, p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", role, diff)
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	t.Run("on SIGTERM", func(t *testing.T) {
		t.Parallel()
		c := command("polite")
		c.Grace = time.Hour
		p := start(t, c)
		line(t, p.Stdout)
		p.Stop()
		if got := all(t, p.Stdout); got != "bye\n" {
			t.Errorf("it said %q", got)
		}
		if diff := cmp.Diff(child.End{Stopped: true}, ended(t, p)); diff != "" {
			t.Errorf("End (-want +got):\n%s", diff)
		}
	})
	t.Run("after the grace period", func(t *testing.T) {
		t.Parallel()
		c := command("stubborn")
		c.Grace = 50 * time.Millisecond
		p := start(t, c)
		line(t, p.Stdout)
		p.Stop()
		p.Stop()
		if diff := cmp.Diff(child.End{Code: -1, Signal: "killed", Stopped: true}, ended(t, p)); diff != "" {
			t.Errorf("End (-want +got):\n%s", diff)
		}
	})
	t.Run("the group", func(t *testing.T) {
		t.Parallel()
		c := command("waiting parent")
		c.Grace, c.Linger = 200*time.Millisecond, time.Hour
		p := start(t, c)
		if got := line(t, p.Stdout); got != "ready" {
			t.Fatalf("the first line is %q", got)
		}
		pid, err := strconv.Atoi(line(t, p.Stdout))
		if err != nil {
			t.Fatal(err)
		}
		p.Stop() // the parent ends at once, its child does not
		ended(t, p)
		gone(t, pid)
		all(t, p.Stdout)
	})
}

// The end of the process is the end of its group, after the time to linger.
func TestLingering(t *testing.T) {
	t.Parallel()
	c := command("parent")
	c.Linger = 100 * time.Millisecond
	p := start(t, c)
	said := strings.Fields(all(t, p.Stdout))
	if diff := cmp.Diff(child.End{}, ended(t, p)); diff != "" {
		t.Errorf("End (-want +got):\n%s", diff)
	}
	if len(said) != 2 || said[0] != "ready" {
		t.Fatalf("it said %q", said)
	}
	pid, err := strconv.Atoi(said[1])
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// A daemon cannot be killed, but it does not keep us reading.
func TestDaemon(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"daemon", "endless daemon"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			c := command(role)
			c.Linger = 100 * time.Millisecond
			p := start(t, c)
			ended(t, p)
			text := all(t, p.Stdout)
			if role == "endless daemon" {
				return // it ends with the pipe
			}
			pid, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				t.Fatalf("it said %q", text)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Errorf("the daemon did not survive: %v", err)
			}
		})
	}
}

// What a process has written before its end can be read afterwards, however late.
func TestReadAfterTheEnd(t *testing.T) {
	t.Parallel()
	c := command("full")
	c.Linger = time.Millisecond
	p := start(t, c)
	ended(t, p)
	if got := all(t, p.Stdout); len(got) != 60_000 {
		t.Errorf("read %d bytes, want 60000", len(got))
	}
}

func TestWriteToProcessThatDoesNotRead(t *testing.T) {
	t.Parallel()
	c := command("exit 7")
	c.Stdin = true
	p := start(t, c)
	if _, err := p.Stdin.Write(make([]byte, 1<<20)); err == nil {
		t.Error("a write to a process that has ended succeeds")
	}
	ended(t, p)

	c = command("forever")
	c.Stdin = true
	p = start(t, c)
	failed := writeMuch(p)
	p.Kill()
	ended(t, p)
	if err := <-failed; err == nil {
		t.Error("a write to a process that was killed succeeds")
	}

	// Nor does a daemon that has inherited the input hold the writer up.
	c = command("daemon")
	c.Stdin, c.Linger = true, time.Millisecond
	p = start(t, c)
	failed = writeMuch(p)
	ended(t, p)
	select {
	case err := <-failed:
		if err == nil {
			t.Error("a write to a process that has left a daemon succeeds")
		}
	case <-time.After(soon):
		t.Error("a write to a process that has left a daemon does not end")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(all(t, p.Stdout)))
	if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Errorf("there is no daemon: %v", err)
	}
}

// writeMuch writes more than a pipe holds, to a process that does not read.
func writeMuch(p *child.Process) <-chan error {
	failed := make(chan error, 1)
	go func() {
		_, err := p.Stdin.Write(make([]byte, 1<<20))
		failed <- err
	}()
	return failed
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	plain := write("plain", "text", 0o600)
	garbage := write("garbage", "\x01\x02\x03", 0o700)
	orphan := write("orphan", "#!/does/not/exist\n", 0o700)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + dir + ":/nowhere"
	for _, tt := range []struct {
		name     string
		command  child.Command
		want     string
		notFound bool
	}{
		{"nothing", child.Command{}, "exec: no command given", false},
		{"an empty name", child.Command{Argv: []string{""}}, "exec: the name of the program is empty", false},
		{"not in PATH", child.Command{Argv: []string{"gitmcp"}, Env: []string{path}}, `exec: "gitmcp": not found in PATH (` + dir + ":/nowhere); install it, or name it by its absolute path", true},
		{"no PATH", child.Command{Argv: []string{"sh"}}, `exec: "sh": not found: its environment has no PATH; set PATH, or name the program by its absolute path`, true},
		{"an invisible name", child.Command{Argv: []string{"g\u202eit"}, Env: []string{path}}, `exec: "g\u202eit": not found in PATH (` + dir + ":/nowhere); install it, or name it by its absolute path", true},
		{"not executable in PATH", child.Command{Argv: []string{"plain"}, Env: []string{path}}, `exec: "plain": not found: ` + plain + " is not executable; chmod +x it", true},
		{"not executable", child.Command{Argv: []string{plain}}, "exec: " + plain + " is not executable; chmod +x it", false},
		{"no file", child.Command{Argv: []string{"/does/not/exist"}}, "exec: /does/not/exist: not found: there is no such file", true},
		{"a folder", child.Command{Argv: []string{dir}}, "exec: " + dir + " is a folder, not a program", false},
		{"no interpreter", child.Command{Argv: []string{orphan}}, "exec: " + orphan + ": the interpreter or loader that it names is not installed: no such file or directory", false},
		{"garbage", child.Command{Argv: []string{garbage}}, "exec: " + garbage + ": neither a program for this system nor a script that begins with #!: exec format error", false},
		{"too long", child.Command{Argv: []string{self, strings.Repeat("x", 8<<20)}}, "exec: " + self + ": its arguments and environment are longer than the system accepts: argument list too long", false},
		{"NUL", child.Command{Argv: []string{self, "a\x00b"}}, "exec: argument 1 contains a NUL character, which no argument can", false},
		{"NUL in a value", child.Command{Argv: []string{self}, Env: []string{"A=secret\x00"}}, "exec: the value of the environment variable A contains a NUL character", false},
		{"no value", child.Command{Argv: []string{self}, Env: []string{"secret"}}, "exec: an entry of the environment is not of the form NAME=value", false},
		{"no folder", child.Command{Argv: []string{self}, Dir: "/does/not/exist"}, "exec: the working folder /does/not/exist does not exist; create it, or name another one", false},
		{"a file as the folder", child.Command{Argv: []string{self}, Dir: plain}, "exec: the working folder " + plain + " is not a folder; name another one", false},
	} {
		tt.command.Stdout = true
		p, err := child.Start(tt.command)
		if err == nil {
			p.Close()
			t.Errorf("%s: it was started", tt.name)
			continue
		}
		if err.Error() != tt.want || errors.Is(err, child.ErrNotFound) != tt.notFound {
			t.Errorf("%s: Start() =\n%v (not found: %v), want\n%s", tt.name, err, errors.Is(err, child.ErrNotFound), tt.want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // relative entries of PATH would be found here
	for _, name := range []string{"first/tool", "second/tool", "here/tool"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	first, second, here := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "here")
	for _, tt := range []struct{ name, path, want string }{
		{"tool", first + ":" + second, first + "/tool"},
		{"tool", second + ":" + first, second + "/tool"},
		{"tool", ".:" + "here::" + second, second + "/tool"}, // the current folder is no place
		{"./tool", first, here + "/tool"},
		{"../second/tool", "", second + "/tool"},
		{first + "/tool", "", first + "/tool"},
	} {
		got, err := child.Find(tt.name, []string{"PATH=/other", "PATH=" + tt.path}, here)
		if err != nil || got != tt.want {
			t.Errorf("Find(%q) in %q = %q, %v, want %q", tt.name, tt.path, got, err, tt.want)
		}
	}
}

// All methods at once, many times: nothing hangs, and the race detector has something to
// look at.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	for range 30 {
		c := command("forever")
		c.Stdin, c.Stderr, c.Grace = true, true, time.Millisecond
		p := start(t, c)
		var all sync.WaitGroup
		for _, f := range []func(){p.Stop, p.Kill, p.Close, func() { p.End() }, func() { _, _ = io.ReadAll(p.Stdout) }, func() { _, _ = p.Stdin.Write(make([]byte, 1<<20)) }, func() { _ = p.Stderr.Close() }} {
			all.Go(f)
		}
		all.Wait()
		if end := ended(t, p); !end.Stopped {
			t.Errorf("End() = %+v, want it stopped", end)
		}
	}
}
