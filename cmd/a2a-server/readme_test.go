package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the output of the tour into docs/tour.md")

const (
	readme = "../../README.md"
	tour   = "../../docs/tour.md"
)

// The tour prints what it says, twice on the same data: its blocks go to one bash unchanged, after
// the one that builds the program, which [binary] runs.
func TestTour(t *testing.T) {
	t.Parallel()
	needPrograms(t)
	text, err := os.ReadFile(tour)
	if err != nil {
		t.Fatal(err)
	}
	blocks := tourOf(t, string(text))
	folder := t.TempDir()
	if err := os.Symlink(filepath.Dir(binary(t)), filepath.Join(folder, "bin")); err != nil {
		t.Fatal(err)
	}
	after := string(text)
	for range 2 {
		s := openShell(t, folder)
		for _, b := range blocks {
			got := s.paste(t, b.commands)
			if diff := cmp.Diff(stable(b.output), stable(got)); diff != "" && !*update {
				t.Errorf("%s\nprints something else (-tour +printed); -update writes it down:\n%s", b.commands, diff)
			}
			after = strings.Replace(after, b.text, blockText(b.commands, got), 1)
		}
		if len(s.servers) != 2 {
			t.Errorf("the tour ran the servers %v, want one before the crash and one after it", s.servers)
		}
		s.close(t)
		s.dead(t, s.servers)
	}
	if *update {
		if err := os.WriteFile(tour, []byte(after), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
}

// needPrograms skips a test of a document where the document's programs are missing. `make check`
// refuses such a machine.
func needPrograms(t *testing.T) {
	t.Helper()
	for _, name := range []string{"bash", "curl", "git", "openssl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%v: make test does without, make check needs it", err)
		}
	}
}

// block is what is pasted at once, and what it prints.
type block struct{ text, commands, output string }

const (
	shellFence  = "```sh\n"
	outputFence = "```text\n"
)

func blockText(commands, output string) string {
	return shellFence + commands + "```\n\n" + outputFence + output + "```\n"
}

// tourOf returns the blocks of shell of the tour, all of which are followed by what they print, but
// the first, which builds the program and prints nothing.
func tourOf(t *testing.T, doc string) []block {
	t.Helper()
	var all []block
	for _, rest := range strings.Split(doc, shellFence)[2:] {
		commands, rest, ok := strings.Cut(rest, "```\n")
		if !ok {
			t.Fatal("a block of shell in the tour has no end")
		}
		after, ok := strings.CutPrefix(rest, "\n"+outputFence)
		if !ok {
			t.Fatalf("the tour does not say what this prints:\n%s", commands)
		}
		output, _, _ := strings.Cut(after, "```\n")
		all = append(all, block{blockText(commands, output), commands, output})
	}
	crash := slices.IndexFunc(all, func(b block) bool { return strings.Contains(b.commands, "kill -9 $SERVER") })
	if len(all) < 5 || crash < 1 || crash > len(all)-3 {
		t.Fatalf("the tour has %d blocks after the build, with the crash in number %d: want the whole tour with a crash in the middle", len(all), crash)
	}
	return all
}

// buildCommand returns the arguments of the command that builds the program in the tour, with its
// output in a folder of ours.
func buildCommand(folder string) ([]string, error) {
	doc, err := os.ReadFile(tour)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(doc), shellFence)
	command, _, _ := strings.Cut(rest, "```\n")
	args := strings.Fields(command)
	to := slices.Index(args, "bin/")
	if to < 0 || args[0] != "go" || strings.Count(command, "\n") != 1 {
		return nil, fmt.Errorf("the first command of the tour is %q, want one that builds the program into bin/", command)
	}
	args[to] = folder + string(filepath.Separator)
	return args, nil
}

// What differs from run to run, and what stands for it when outputs are compared.
var volatile = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<digest>"},
	{regexp.MustCompile(`(?m)^Open http://127\.0\.0\.1:\d+$`), "Open <address>"},
	{regexp.MustCompile(`(?m)^(cut off after \d+)-[0-9a-f]{4}$`), "$1-<tag>"},
}

func stable(output string) string {
	for _, v := range volatile {
		output = v.pattern.ReplaceAllString(output, v.name)
	}
	return output
}

// shell is a bash that somebody pastes into. What its curl asks of localhost:8080 or
// localhost:8443 goes to a port that is free.
type shell struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errors  bytes.Buffer
	servers []int // their processes, the newest last
}

func openShell(t *testing.T, folder string) *shell {
	t.Helper()
	needPrograms(t)
	port := freePort(t)
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), fmt.Appendf(nil, "connect-to = \"localhost:8080:127.0.0.1:%[1]s\"\nconnect-to = \"localhost:8443:127.0.0.1:%[1]s\"\n", port), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	s := &shell{cmd: exec.CommandContext(ctx, "bash", "--norc", "-i")}
	s.cmd.Dir, s.cmd.Stderr = folder, &s.errors
	s.cmd.Env = append(os.Environ(), "CURL_HOME="+home, "HISTFILE=", fmt.Sprintf("A2A_SERVER_LISTEN=127.0.0.1:%s", port))
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal: it would take that of whoever runs the tests
	s.cmd.WaitDelay = time.Second
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	t.Cleanup(func() {
		for _, pid := range s.servers {
			if t.Failed() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return s
}

// freePort returns a port that nobody listens on. It is none of those that the system gives to
// whoever wants any, servers and connections alike: one of them could have it by the time that
// the shell starts its server.
func freePort(t *testing.T) string {
	t.Helper()
	var err error
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		var l net.Listener
		if l, err = net.Listen("tcp", ":"+port); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return port
		}
	}
	t.Fatal(err)
	return ""
}

// end is what the test has the shell print after each block.
const end = "--- end of block, server "

// paste gives a block to the shell as it stands and returns what it prints.
func (s *shell) paste(t *testing.T, commands string) string {
	t.Helper()
	if _, err := io.WriteString(s.in, commands+"echo '"+end+"'$SERVER\n"); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if pid, ok := strings.CutPrefix(line, end); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(pid)); err == nil && !slices.Contains(s.servers, pid) {
				s.servers = append(s.servers, pid)
				s.dead(t, s.servers[:len(s.servers)-1])
			}
			return printed.String()
		}
		printed.WriteString(line)
		if err != nil {
			t.Fatalf("%s\nprints %q, and the shell ends: %v\n%s", commands, printed.String(), err, s.errors.String())
		}
	}
}

func (s *shell) close(t *testing.T) {
	t.Helper()
	_ = s.in.Close()
	if err := s.cmd.Wait(); err != nil {
		t.Logf("the shell ends with %v, as its last command did", err)
	}
}

// dead ends the test when one of these servers still runs.
func (s *shell) dead(t *testing.T, servers []int) {
	t.Helper()
	for _, pid := range servers {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Fatalf("server %d still runs (%v): nothing has crashed", pid, err)
		}
	}
}

// The YAML of the README is that of an example, which a test runs.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/command/a2a-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	if code, _, _ := strings.Cut(rest, "```"); code == "" || !strings.Contains(string(example), code) {
		t.Errorf("examples/command has not what the README shows of it:\n%s", code)
	}
}

// Every link of the README leads to a file.
func TestReadmeLinks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(readme), m[1])); err != nil {
			t.Error(fmt.Errorf("README links to %s: %w", m[1], err))
		}
	}
}
