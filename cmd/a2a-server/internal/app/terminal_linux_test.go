package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"a2a-server/cmd/a2a-server/internal/app"
)

// openTerminal returns both ends of a terminal.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	open := func(path string) *os.File {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("open %s: %v", path, err)
		}
		file := os.NewFile(uintptr(fd), path)
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	person = open("/dev/ptmx")
	fd := int(person.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatalf("make a terminal: %v", err)
	}
	return person, open(fmt.Sprintf("/dev/pts/%d", n))
}

// Who starts the server in a terminal reads what it says, with the address first; a
// program reads JSON; and what log.format says holds for both. On a terminal the address of the pages stands
// alone, too, configured or not.
func TestLogFormat(t *testing.T) {
	t.Parallel()
	const console, json = " INF listening url=http://127.0.0.1:", `"message":"listening"`
	const local = "http://127.0.0.1:"
	noPages := filepath.Join(t.TempDir(), "a2a-server.yaml")
	if err := os.WriteFile(noPages, []byte("ui: {enabled: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		format   string // "": the default
		terminal bool
		args     string
		want     string
		open     string // address of the pages; "": no pages
	}{
		"terminal":            {"", true, "", console, local},
		"file":                {"", false, "--agent-name=bank", json, ""},
		"json on a terminal":  {"json", true, "--agent-name=bank", json, local},
		"console in a file":   {"console", false, "--agent-name=bank", console, ""},
		"auto, on a terminal": {"auto", true, "", console, local},
		"a public URL":        {"", true, "--public-url=http://localhost:1/bank", "", "http://localhost:1/bank\r\n"},
		"no pages":            {"", true, "--config=" + noPages, console, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"serve", "--listen", "127.0.0.1:0", "--store", "memory", "--data", t.TempDir()}
			args = append(args, strings.Fields(c.args)...)
			if c.format != "" {
				args = append(args, "--log-format", c.format)
			}
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if c.terminal {
				_, _ = read.Close(), write.Close()
				read, write = openTerminal(t)
			}
			stdout := io.Discard
			if c.terminal {
				stdout = write
			}
			ctx, cancel := context.WithCancel(t.Context())
			said := &untilListening{cancel: cancel}
			done := make(chan error, 1)
			go func() {
				_, err := io.Copy(said, read)
				done <- err
			}()
			code := app.Run(ctx, args, nil, nil, stdout, write)
			_ = write.Close()
			if err := <-done; err != nil && !errors.Is(err, syscall.EIO) { // how a terminal ends
				t.Error(err)
			}
			if text := said.said.String(); code != 0 || !strings.Contains(text, c.want) {
				t.Errorf("it exits with %d and says\n%s\nwithout %q", code, text, c.want)
			}
			if text := said.said.String(); strings.Contains(text, "Open ") != (c.open != "") || !strings.Contains(text, "Open "+c.open) && c.open != "" {
				t.Errorf("it says\n%s\nwant the address of the pages %q", text, c.open)
			}
		})
	}
}

// untilListening ends the server as soon as it says that it listens.
type untilListening struct {
	said   bytes.Buffer
	cancel func()
}

// Write never fails.
func (u *untilListening) Write(p []byte) (int, error) {
	u.said.Write(p)
	if strings.Contains(u.said.String(), "listening") {
		u.cancel()
	}
	return len(p), nil
}
