package privatefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	if _, err := Read(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(path, 10); err != nil || string(text) != "0123456789" {
		t.Errorf("Read() = %q, %v", text, err)
	}
	if _, err := Read(path, 9); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a large file: %v", err)
	}
	for mode, ok := range map[fs.FileMode]bool{0o400: true, 0o640: true, 0o604: false, 0o602: false, 0o620: false, 0o666: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path, 10); (err == nil) != ok {
			t.Errorf("mode %04o: %v, want valid: %v", mode, err, ok)
		}
	}
	if _, err := Read(folder, 10); err == nil {
		t.Error("a folder was read")
	}
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(pipe, 10); err == nil {
		t.Error("a pipe was read")
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	for _, text := range []string{"one", "two"} {
		if err := Replace(path, []byte(text), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path, 10); err != nil || string(got) != text {
			t.Errorf("Read() = %q, %v, want %q", got, err, text)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the mode is %v, %v", info.Mode(), err)
		}
		if err := os.Chmod(path, 0o640); err != nil { // the next one is 0600 again
			t.Fatal(err)
		}
	}
	// A crash before the rename leaves a draft, and the file as it was.
	draft := filepath.Join(folder, draftPrefix(path)+"123")
	for _, name := range []string{draft, filepath.Join(folder, ".other.new-123")} {
		if err := os.WriteFile(name, []byte("thr"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(path); err != nil {
		t.Fatal(err)
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 2 {
		t.Errorf("the folder has %v, %v, want the file, and the draft of another one", all, err)
	}
	if err := Replace(filepath.Join(folder, "none", "f"), nil, 0); err == nil {
		t.Error("a file was made in a folder that does not exist")
	}
}

// What cannot be replaced is left as it is, with nothing next to it.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("x"), 0); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 1 {
		t.Errorf("the folder has %v, %v, want only what was there", all, err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	unlock, err := Lock(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockWithin(t.Context(), folder, 20*time.Millisecond); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	again, err := Lock(folder)
	if err != nil {
		t.Fatal(err)
	}
	again()
	if _, err := Lock(filepath.Join(folder, "none")); err == nil {
		t.Error("a folder that does not exist was locked")
	}
}

// An administrator does not take a file away from the server.
func TestReplaceKeepsTheOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owner := os.Getuid()
	if owner == 0 {
		owner = 65534 // only root can give a file away
		if err := os.Chown(path, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := Replace(path, []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != owner || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %+v, want one of user %d", stat, owner)
	}
}

// A group that may read a file still may, if the caller wants that; nobody gets more.
func TestReplaceKeepsTheGroup(t *testing.T) {
	t.Parallel()
	for before, want := range map[fs.FileMode]fs.FileMode{0o600: 0o600, 0o640: 0o640, 0o440: 0o640, 0o660: 0o640, 0o644: 0o640, 0o606: 0o600} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		group := os.Getgid()
		if os.Getuid() == 0 {
			group = 65534
		}
		if err := errors.Join(os.Chown(path, -1, group), os.Chmod(path, before)); err != nil {
			t.Fatal(err)
		}
		if err := Replace(path, []byte("x"), 0o040); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || info.Mode().Perm() != want || want&0o040 != 0 && int(stat.Gid) != group {
			t.Errorf("%04o: the file has the mode %v and is of group %d, want %04o and %d", before, info.Mode(), stat.Gid, want, group)
		}
	}
}

// Characters that mean something in a pattern mean nothing in the name of a folder.
func TestSweepTakesNamesAsTheyAre(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"a[b", "st*", "star", "b\\"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name, ".f.new-1"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a[b", "st*", "b\\"} {
		if err := Sweep(filepath.Join(root, name, "f")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(filepath.Join(root, name)); err != nil || len(left) != 0 {
			t.Errorf("%s still has %v, %v", name, left, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "star", ".f.new-1")); err != nil {
		t.Errorf("a file of another folder was removed: %v", err)
	}
}
