package adminsocket

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// left makes a socket as a server leaves it that was killed.
func left(t *testing.T, path string) {
	t.Helper()
	s, err := Listen(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.(*socket).UnixListener.Close(); err != nil { //nolint:errcheck,forcetypeassert // Listen has made it
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
}

// deep returns a folder whose path is longer than a name of a socket may be.
func deep(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), strings.Repeat("d", 100), strings.Repeat("e", 200))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A socket is for its owner, in a folder of any depth, replaces one that was left, and is
// removed.
func TestSocket(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{"short": t.TempDir(), "long": deep(t)} {
		path := filepath.Join(folder, "admin.sock")
		left(t, path)
		s, err := Listen(path, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Errorf("%s: the file is %v, %v", name, info.Mode(), err)
		}
		c, err := Dial(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			_ = c.Close()
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Errorf("%s: Close() = %v", name, err)
		}
		if all, err := os.ReadDir(folder); err != nil || len(all) != 0 {
			t.Errorf("%s: %v, %v are left", name, all, err)
		}
	}
}

// No moment exists at which the socket has another mode than its last.
func TestModeOfASocketThatIsMade(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "admin.sock")
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if info, err := os.Lstat(path); err == nil && info.Mode().Perm() != 0o600 {
				t.Errorf("its mode is %v", info.Mode())
				return
			}
		}
	})
	for range 200 {
		s, err := Listen(path, 0)
		if err != nil {
			t.Error(err)
			break
		}
		_ = s.Close()
	}
	close(done)
	watching.Wait()
}

// What is not a socket stays, and so does one that somebody listens on.
func TestSocketIsNotReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "admin.sock")
	for name, put := range map[string]func() error{
		"a file":              func() error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"a folder":            func() error { return os.Mkdir(path, 0o700) },
		"a pipe":              func() error { return syscall.Mkfifo(path, 0o600) },
		"a link":              func() error { return os.Symlink("/dev/null", path) },
		"a link to a socket":  func() error { left(t, path+"2"); return os.Symlink(path+"2", path) },
		"a link that dangles": func() error { return os.Symlink("nowhere", path) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := Listen(path, 0); err == nil || !strings.Contains(err.Error(), "not a socket") {
			t.Errorf("%s: Listen() = %v, %v", name, s, err)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced: %v", name, err)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Listen(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Listen(path, 0); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("a second server: %v, %v", second, err)
	}
	c, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatalf("the second server has cut off the first: %v", err)
	}
	_ = c.Close()
	// Whoever replaces the file keeps theirs.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	theirs, err := Listen(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := Dial(t.Context(), path); err != nil {
		t.Errorf("the socket of another server was removed: %v", err)
	} else {
		_ = c.Close()
	}
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
}

// Of many servers that start at once, on what another has left, one has the socket.
func TestServersThatStartAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.sock")
	left(t, path)
	var mu sync.Mutex
	var made []net.Listener
	var starting sync.WaitGroup
	for range 8 {
		starting.Go(func() {
			if s, err := Listen(path, 0); err == nil {
				mu.Lock()
				defer mu.Unlock()
				made = append(made, s)
			}
		})
	}
	starting.Wait()
	if len(made) != 1 {
		t.Errorf("%d servers have the socket", len(made))
	}
	for _, s := range made {
		_ = s.Close()
	}
}

func TestSocketThatCannotBeMade(t *testing.T) {
	t.Parallel()
	if _, err := Listen(filepath.Join(t.TempDir(), "none", "admin.sock"), 0); err == nil {
		t.Error("a socket was made in a folder that does not exist")
	}
	if _, err := Dial(context.Background(), filepath.Join(deep(t), "admin.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a long name that does not exist: %v", err)
	}
}

// A client connects to a socket only if nobody but the server can have made it, and says why
// it does not.
func TestDialTrusts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	stale, foreign, shared := filepath.Join(folder, "stale"), filepath.Join(folder, "foreign"), filepath.Join(t.TempDir(), "shared")
	left(t, stale)
	left(t, foreign)
	left(t, shared)
	want := "connection refused" // only root gives a socket to somebody else
	if os.Getuid() == 0 {
		if err := os.Chown(foreign, 4711, -1); err != nil {
			t.Fatal(err)
		}
		want = "belongs to user 4711"
	}
	if err := os.Chmod(filepath.Dir(shared), 0o777); err != nil { //nolint:gosec // what is tested
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		foreign: want, shared: "cannot be trusted", stale: "connection refused",
		filepath.Join(folder, "admin.sock"): "no such file", filepath.Join(deep(t), "admin.sock"): "no such file",
	} {
		if c, err := Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Dial(%s) = %v, %v, want %q", path, c, err, want)
		}
	}
	if _, err := Listen(filepath.Join(filepath.Dir(shared), "new"), 0); err == nil || !strings.Contains(err.Error(), "could be replaced") {
		t.Errorf("Listen() in a folder that everybody may write = %v", err)
	}
}
