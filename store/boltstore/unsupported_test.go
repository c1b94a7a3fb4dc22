package boltstore

import (
	"go/build"
	"os"
	"strings"
	"testing"
)

// Who builds for Windows is told by the compiler that it is not supported; nobody else is.
func TestWindowsIsRefusedByName(t *testing.T) {
	t.Parallel()
	const name = "unsupported_windows.go"
	for goos, want := range map[string]bool{"windows": true, "linux": false, "darwin": false} {
		on := build.Default
		on.GOOS = goos
		if got, err := on.MatchFile(".", name); err != nil || got != want {
			t.Errorf("%s is built for %s: %t, %v, want %t", name, goos, got, err, want)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), "\nconst _ = a2a_server_does_not_run_on_Windows") {
		t.Errorf("%s does not stop the compiler with a name that says why: %v", name, err)
	}
}
