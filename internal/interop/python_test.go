package interop

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// installPython installs what python/NAME/requirements.txt locks, exactly that, and
// returns the interpreter that has it. It is kept in the cache of the user under what it
// was made from, so that only the first run on a machine pays for it.
func installPython(t *testing.T, name string) (interpreter string) {
	t.Helper()
	python := find(t, "python3", "install Python 3.11 or newer, with pip")
	lock := filepath.Join("python", name, "requirements.txt")
	content, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	version := must(t, ".", python, "-VV")
	checkPython(t, python)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(append([]byte(version), content...))
	folder := filepath.Join(cache, "a2a-server-interop")
	final := filepath.Join(folder, name+"-"+hex.EncodeToString(sum[:8]))
	interpreter = filepath.Join("bin", "python")
	if _, err := os.Stat(filepath.Join(final, interpreter)); err == nil {
		return filepath.Join(final, interpreter)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	// What is half done has another name, so nobody takes it for whole.
	dir, err := os.MkdirTemp(folder, name+"-new-") //nolint:usetesting // it stays after the test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // renamed, when all went well
	must(t, ".", python, "-m", "venv", "--without-pip", dir)
	// No package is built here: that would take tools that nobody has locked.
	must(t, ".", python, "-m", "pip", "--python", filepath.Join(dir, interpreter), "install", "--quiet", "--disable-pip-version-check",
		"--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-compile", "--requirement", lock)
	if err := os.Rename(dir, final); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err) // another run may have been first
	}
	return filepath.Join(final, interpreter)
}

func checkPython(t *testing.T, python string) {
	t.Helper()
	out := strings.TrimSpace(must(t, ".", python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"))
	minor, ok := strings.CutPrefix(out, "3.")
	if n, err := strconv.Atoi(minor); !ok || err != nil || n < 11 {
		t.Fatalf("python3 is %s: the clients in Python need 3.11 or newer", out)
	}
}
