package boltfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// create creates the file at path, with everything in it that fill writes, if there is none. The file is
// written under another name and linked to path once it is complete and durable, so that
// a file at path is always a complete store.
func create(path string, o bolt.Options, fill func(*bolt.Tx) error) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return nil // if something is wrong with it, opening it reports that
	}
	if err := CheckDraft(path); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	defer func() { _ = os.Remove(draft.Name()) }() // or it has been renamed
	if err := draft.Close(); err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	file, err := bolt.Open(draft.Name(), 0o600, &o)
	if err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	if err := errors.Join(file.Update(fill), file.Close()); err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	if err := Publish(draft.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// CheckDraft refuses to make a file at path while it is being restored.
func CheckDraft(path string) error {
	if _, err := os.Lstat(Draft(path)); err == nil {
		return fmt.Errorf("%s is being restored, or that was cut off: run a2a-server store restore again, or remove %s", path, Draft(path))
	}
	return nil
}

// Draft returns the name that the file at path has while it is being restored.
func Draft(path string) string {
	return filepath.Join(filepath.Dir(path), ".restoring-"+filepath.Base(path))
}

// LockFolder keeps other calls with the same folder out until unlock.
func LockFolder(name string) (unlock func(), err error) {
	folder, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = folder.Close() // it was only opened
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("a store is being restored there: wait until that has ended")
		}
		return nil, err
	}
	return func() { _ = folder.Close() }, nil
}

// Publish gives a complete, durable file its name. It is durable when Publish returns. The error
// wraps [os.ErrExist] if another process has made a file of that name meanwhile. The name draft may
// remain.
func Publish(draft, path string) error {
	// Linked, not renamed: a file that another process has made meanwhile stays.
	err := os.Link(draft, path)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		err = os.Rename(draft, path) // this file system has no links
	}
	if err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	return syncFolders(path)
}

// syncFolders makes the names of a file and of its folder durable: a file whose folder
// was not synced may be gone after a power loss, with all its contents.
func syncFolders(path string) error {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	for _, name := range []string{folder, filepath.Dir(folder)} {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrPermission) && name != folder {
			return nil // the parent may not be read, and existed before this process
		}
		if err != nil {
			return fmt.Errorf("open store: %w", err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("sync the folder of %s: %w", path, err)
		}
	}
	return nil
}

// StillThere returns an error unless its path still names the open file.
func (f *File) StillThere() error {
	at, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the file %s has been removed or renamed while it was open: new writes are lost; put it back, or restore a copy", f.path)
	case err != nil:
		return fmt.Errorf("the file %s cannot be found any more: %w", f.path, err)
	case !os.SameFile(at, f.opened):
		return fmt.Errorf("the file %s has been replaced while it was open: new writes are lost", f.path)
	}
	return nil
}
