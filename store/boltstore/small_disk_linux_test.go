package boltstore_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// disks are how to make a file system of so many MiB, for whoever may.
var disks = map[string]func(t *testing.T, folder string, mib string) error{
	"tmpfs": func(_ *testing.T, folder, mib string) error {
		return syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size="+mib+"m,mode=700")
	},
	"ext4": func(t *testing.T, folder, mib string) error {
		image := filepath.Join(t.TempDir(), "disk")
		for _, args := range [][]string{
			{"truncate", "-s", mib + "M", image},
			{"mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", image},
			{"mount", "-o", "loop", image, folder},
		} {
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				return errors.New(string(out))
			}
		}
		return nil
	},
}

// onDisk runs a test on a small file system of each kind.
func onDisk(t *testing.T, mib string, test func(t *testing.T, folder string)) {
	for name, mount := range disks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := mount(t, folder, mib); err != nil {
				t.Skip("no such file system can be mounted: ", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
					t.Errorf("unmount %s: %v", folder, err)
				}
			})
			test(t, folder)
		})
	}
}

func roomOn(t *testing.T, folder string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	need(syscall.Statfs(folder, &s))
	return int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // its type differs between machines
}

// A small disk is used until 4 MiB are left for decisions and running tasks, and those until
// 1 MiB is; deleting tasks makes room, which a new process sees, too. Meanwhile others may
// have taken what was left.
func TestSmallDisk(t *testing.T) {
	t.Parallel()
	onDisk(t, "18", func(t *testing.T, folder string) {
		path := filepath.Join(folder, "store.db")
		var db *boltstore.DB
		var h store.Handle
		open := func() {
			t.Helper()
			db = must(boltstore.Open(path))
			h = must(db.Handle())
		}
		open()
		var ids []store.TaskID
		fill := func() (n int) {
			t.Helper()
			for {
				create, _ := turn(alice)
				create.Change.Phase = store.Final
				create.Events[0].Data = noise(32 << 10)
				_, err := h.Append(t.Context(), create).Wait()
				if errors.Is(err, store.ErrUnavailable) {
					return n
				} else if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, create.Task)
				n++
			}
		}
		first, turns := turn(alice)
		commit(h, first)
		n := fill()
		t.Logf("%d tasks of 32 KiB, %d KiB are free", n, roomOn(t, folder)>>10)
		if n < 200 {
			t.Errorf("%d tasks of 32 KiB were accepted on a disk of 18 MiB, want more than 200", n)
		}
		_ = turns
		decided := 0
		for rev := uint64(1); ; rev++ { // whoever decides needs no room ahead
			_, err := h.Append(t.Context(), &store.Batch{
				Scope: store.System(), Task: first.Task, Rev: new(rev), Change: store.Change{TakeFence: true},
				Events: []store.Event{{Kind: "k", Data: noise(16 << 10)}},
			}).Wait()
			if errors.Is(err, store.ErrUnavailable) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			decided += 16
		}
		t.Logf("decisions of %d KiB within the reserve, %d KiB are free", decided, roomOn(t, folder)>>10)
		if decided < 2<<10 {
			t.Errorf("decisions of %d KiB were accepted within the reserve, want more than 2 MiB", decided)
		}
		for round := range 2 {
			if round == 1 {
				for _, id := range ids[len(ids)/2:] {
					need(h.Delete(t.Context(), store.System(), id, nil))
				}
				ids = ids[:len(ids)/2]
			}
			need(db.Close())
			open()
			n := fill()
			t.Logf("%d tasks after opening again, %d KiB are free", n, roomOn(t, folder)>>10)
			if want := 80 * round; n < want {
				t.Errorf("%d tasks were accepted, want %d", n, want)
			}
		}
		need(db.Close())
		need(os.Remove(path))
	})
}
