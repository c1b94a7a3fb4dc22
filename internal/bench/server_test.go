package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server is a server process, as the load generator sees it. It is used by one
// goroutine.
type server struct {
	tb      testing.TB
	spec    spec
	addr    string
	keys    map[string]string // of callers, by name
	pid     int
	hello   report // its first one
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
	stopped bool
}

// dir returns a new folder on the disk that is measured.
func dir(tb testing.TB) string {
	tb.Helper()
	base := os.Getenv("BENCH_DIR")
	if base == "" {
		return tb.TempDir()
	}
	d, err := os.MkdirTemp(base, "bench") //nolint:usetesting // TempDir cannot be told which disk
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(d); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// start starts a server of its own for tb, which ends with it.
func start(tb testing.TB, k kind) *server {
	tb.Helper()
	s := spec{Kind: k}
	if k == ours {
		s.File = filepath.Join(dir(tb), "store.db")
	}
	return startSpec(tb, s)
}

// startSpec starts a server and returns when it listens. It ends with tb, when it was
// not stopped before.
func startSpec(tb testing.TB, s spec) *server {
	tb.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		tb.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	srv := &server{tb: tb, spec: s, cmd: exec.Command(program)}
	srv.cmd.Env = append(os.Environ(), specVariable+"="+string(text))
	if s.Kind == ours {
		srv.cmd.Env = append(srv.cmd.Env, "GOGC="+gogc())
	}
	srv.cmd.Stderr = os.Stderr
	if srv.in, err = srv.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := srv.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	srv.answers = bufio.NewReader(out)
	if err := srv.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	srv.pid = srv.cmd.Process.Pid
	tb.Cleanup(srv.stop)
	if srv.hello, err = srv.answer(); err != nil {
		tb.Fatalf("start the %s server: %v", s.Kind, err)
	}
	srv.addr = srv.hello.Addr
	return srv
}

// gogc is GOGC of our server. It defaults to what the program sets.
func gogc() string {
	if gc := os.Getenv("BENCH_GOGC"); gc != "" {
		return gc
	}
	return "400"
}

func (s *server) answer() (r report, err error) {
	line, err := s.answers.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err == nil && r.Err != "" {
		err = fmt.Errorf("the server process says: %s", r.Err)
	}
	return r, err
}

// tell sends a command and returns what is answered.
func (s *server) tell(command string) report {
	s.tb.Helper()
	if _, err := io.WriteString(s.in, command+"\n"); err != nil {
		s.tb.Fatalf("tell the %s server to %s: %v", s.spec.Kind, command, err)
	}
	r, err := s.answer()
	if err != nil {
		s.tb.Fatalf("tell the %s server to %s: %v", s.spec.Kind, command, err)
	}
	return r
}

// stop ends the process: by the end of its input, and by force when that does not
// help.
func (s *server) stop() {
	if s.stopped {
		return
	}
	s.stopped = true
	_ = s.in.Close()
	force := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer force.Stop()
	if err := s.cmd.Wait(); err != nil {
		s.tb.Errorf("the %s server ended with: %v", s.spec.Kind, err)
	}
}

// measure runs f and returns the CPU that the server used meanwhile, with a profile
// of ours when BENCH_PROFILE asks for one.
func (s *server) measure(b *testing.B, f func()) time.Duration {
	b.Helper()
	folder := os.Getenv("BENCH_PROFILE")
	profiled := folder != "" && (s.spec.Kind == ours || s.spec.Kind == whole)
	if profiled {
		path, err := filepath.Abs(folder)
		if err != nil {
			b.Fatal(err)
		}
		s.tell("profile " + filepath.Join(path, strings.NewReplacer("/", "_", "=", "-").Replace(b.Name())+".prof"))
		defer s.tell("profiled")
	}
	before := s.tell("usage").CPU
	f()
	return s.tell("usage").CPU - before
}
