//go:build unix

package strictyaml_test

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"a2a-server/internal/strictyaml"
)

// TestPipe shows that a pipe to which nobody writes is refused, not waited for.
func TestPipe(t *testing.T) {
	t.Parallel()
	pipe, socket := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "s")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for _, path := range []string{pipe, socket} {
		r := &strictyaml.Report{File: path}
		if _, ok := r.Open(path); ok || len(r.Problems()) != 1 || r.Problems()[0].Problem != "is a pipe or a socket; save its output and name that file" {
			t.Errorf("Open(%s) = %v, problems %v", path, ok, r.Problems())
		}
	}
}
