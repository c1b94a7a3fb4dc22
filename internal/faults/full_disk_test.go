//go:build linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// Texts of this size, which is nearly as much as one call may say, soon use up what is taken
// ahead of a small disk: an eighth of what it has free, and 64 MiB at most.
const bigText = 120_000

// smallDisk mounts a file system of 96 MiB in memory.
func smallDisk(t *testing.T) (path string, err error) {
	t.Helper()
	path = t.TempDir()
	if err := syscall.Mount("tmpfs", path, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=96m,mode=700"); err != nil {
		return "", fmt.Errorf("a tmpfs cannot be mounted: %w", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", path, err)
		}
	})
	return path, nil
}

// A file that may not grow any more, as `ulimit -f` has it, is a full disk that every
// machine has.
func TestFileMayNotGrow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.size = bigText
	if disk, err := smallDisk(t); err == nil { // it only takes longer elsewhere
		w.store = filepath.Join(disk, "tasks.db")
	}
	s := w.start()
	l := w.load()
	w.reached(5)
	info := must(os.Stat(w.store))(t)
	w.limitFiles(s, uint64(info.Size()))
	w.refuses("the file has reached its size limit")
	blind := l.blind.Load()
	w.reads(l, 20)
	if n := l.blind.Load() - blind; n > 0 {
		t.Errorf("%d reads were not answered while the file could not grow", n)
	}
	struck(t, int(l.unsaid.Load()))
	w.limitFiles(s, 1<<50)
	w.recovers()
	w.reached(5)
	w.settle(l)
}

// limitFiles sets how long the files of a process may become.
func (w *world) limitFiles(s *server, bytes uint64) {
	w.Helper()
	var l syscall.Rlimit
	pid := uintptr(s.cmd.Process.Pid)
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, pid, syscall.RLIMIT_FSIZE, 0, uintptr(unsafe.Pointer(&l)), 0, 0); errno != 0 {
		w.Fatal(errno)
	}
	l.Cur = min(bytes, l.Max)
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, pid, syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&l)), 0, 0, 0); errno != 0 {
		w.Fatal(errno)
	}
}

// reads waits until so many more reads were answered.
func (w *world) reads(l *load, more int64) {
	w.Helper()
	want := l.reads.Load() + more
	eventually(w.T, fmt.Sprintf("%d more reads are answered", more), func() bool { return l.reads.Load() >= want })
}

// A file system that is really full, and has room again when somebody has removed
// something else from it.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	disk, err := smallDisk(t)
	if err != nil {
		skip(t, err.Error())
	}
	w.size, w.store = bigText, filepath.Join(disk, "tasks.db")
	w.start()
	l := w.load()
	w.reached(5)
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	w.refuses("the disk is full")
	blind := l.blind.Load()
	w.reads(l, 20)
	if n := l.blind.Load() - blind; n > 0 {
		t.Errorf("%d reads were not answered while the disk was full", n)
	}
	struck(t, int(l.unsaid.Load()))
	need(t, os.Remove(ballast))
	w.recovers()
	w.reached(5)
	l.stop()
	w.finish()
	w.verify()
	// No further process: the file is gone when the test ends, and what follows is
	// shown by the other tests.
	w.live.stop()
	w.live.sound()
}

// fill writes a file until its disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f := must(os.Create(path))(t)
	defer f.Close()
	block := []byte(strings.Repeat("full", 64<<10))
	for {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}
