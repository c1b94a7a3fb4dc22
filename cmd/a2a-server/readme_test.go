package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tour of the README prints into it")

const readme = "../../README.md"

// The tour of the README prints what it says: its console blocks are run by one
// shell, with a server started and stopped where it says so.
func TestReadmeTour(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	blocks := consoles(t, string(text))
	if len(blocks) < 5 {
		t.Fatalf("the README has %d console blocks, want the whole tour", len(blocks))
	}
	program := filepath.Join(t.TempDir(), "a2a-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for range 3 {
		if takeTour(t, program, string(text), blocks) {
			return
		}
	}
	t.Error("three tours had a stream whose last chunk was out before its tool had returned")
}

// closing is what a stream ends with when its last chunk is out before its tool has
// returned. That is rare, right, and not what the README shows.
const closing = `"parts":[{"text":""}]`

// takeTour follows the README with a new server. false: it saw what is correct and
// rarer than what the README shows.
func takeTour(t *testing.T, program, text string, blocks []console) bool {
	t.Helper()
	tour := &tour{folder: t.TempDir(), program: program, address: "127.0.0.1:0"}
	defer tour.stop(t)
	after := text
	for _, b := range blocks {
		got := tour.run(t, b.command)
		if strings.Contains(got, closing) {
			return false
		}
		if diff := cmp.Diff(stable(b.output), stable(got)); diff != "" && !*update {
			t.Errorf("$ %s\nprints something else (-README +printed); -update writes it down:\n%s", b.command, diff)
		}
		if got != "" && !strings.HasSuffix(got, "\n") {
			t.Errorf("$ %s\nprints a last line without an end: %q", b.command, got)
		}
		after = strings.Replace(after, b.text, "$ "+b.command+"\n"+got, 1)
	}
	if *update {
		if err := os.WriteFile(readme, []byte(after), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	return true
}

// console is one command of the tour and what it prints.
type console struct{ text, command, output string }

// consoles returns the commands of a document's console blocks. A command begins
// with "$ " and continues while its lines end with a backslash.
func consoles(t *testing.T, doc string) []console {
	t.Helper()
	var all []console
	for i, block := range strings.Split(doc, "```console\n") {
		if i == 0 {
			continue
		}
		block, _, ok := strings.Cut(block, "```")
		if !ok {
			t.Fatal("a console block of the README has no end")
		}
		for _, one := range strings.Split("\n"+block, "\n$ ")[1:] {
			one = strings.TrimSuffix(one, "\n") + "\n"
			end := 0
			for {
				n := strings.IndexByte(one[end:], '\n')
				end += n + 1
				if !strings.HasSuffix(one[:end], "\\\n") {
					break
				}
			}
			all = append(all, console{text: "$ " + one, command: strings.TrimSuffix(one[:end], "\n"), output: one[end:]})
		}
	}
	return all
}

// What differs from run to run, and what stands for it when outputs are compared.
var volatile = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<digest>"},
	{regexp.MustCompile(`(?m)^id: (\d+)-[0-9a-f]{4}$`), "id: $1-<tag>"},
}

func stable(output string) string {
	for _, v := range volatile {
		output = v.pattern.ReplaceAllString(output, v.name)
	}
	return output
}

// tour is a person who follows the README: one shell, and a second one in which the
// server runs.
type tour struct {
	folder, program, address string
	server                   *exec.Cmd
}

func (x *tour) run(t *testing.T, command string) string {
	t.Helper()
	switch {
	case strings.HasPrefix(command, "go run ./cmd/a2a-server serve"):
		x.start(t)
		return ""
	case command == "kill -9 $SERVER":
		x.kill(t)
		return ""
	}
	state := filepath.Join(x.folder, "state")
	script := "set -a; [ -f " + state + " ] && . " + state + "\n" + strings.ReplaceAll(command, "localhost:8080", x.address) +
		"\nrc=$?; declare -p | grep -E '^declare -x (TASK|APPROVAL|LAST)=' > " + state + "; exit $rc"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Dir = x.folder
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	if err := shell.Run(); err != nil {
		t.Fatalf("$ %s\n%v\n%s", command, err, &out)
	}
	return out.String()
}

func (x *tour) start(t *testing.T) {
	t.Helper()
	log := &addressFinder{address: make(chan string, 1)}
	x.server = exec.CommandContext(context.WithoutCancel(t.Context()), x.program, "serve", "--listen", x.address)
	x.server.Dir, x.server.Stderr = x.folder, log
	if err := x.server.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case x.address = <-log.address:
	case <-time.After(time.Minute):
		t.Fatal("the server does not say where it listens")
	}
}

// kill ends the server as a crash does.
func (x *tour) kill(t *testing.T) {
	t.Helper()
	if err := x.server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := x.server.Wait(); err == nil {
		t.Error("the server has ended well though it was killed")
	}
	x.server = nil
}

func (x *tour) stop(t *testing.T) {
	t.Helper()
	if x.server == nil {
		return
	}
	if err := x.server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := x.server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

var listening = regexp.MustCompile(`"address":"([^"]+)".*"message":"listening"`)

// addressFinder finds the address in the server's log. One goroutine writes to it,
// that of the command.
type addressFinder struct {
	buf     bytes.Buffer
	found   bool
	address chan string // gets it once
}

// Write never fails.
func (b *addressFinder) Write(p []byte) (int, error) {
	if !b.found {
		b.buf.Write(p)
		if m := listening.FindSubmatch(b.buf.Bytes()); m != nil {
			b.found = true
			b.address <- string(m[1])
		}
	}
	return len(p), nil
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
