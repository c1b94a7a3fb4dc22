// Package privatefile reads and replaces files that are for their owner only, such as keys. It
// refuses a file with a mode that is too open, and a crash at any moment leaves either the old
// or the new file. It does not know the format of a file.
package privatefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// tooOpen are the rights that only the owner of a file may have: writing for its group,
// reading and writing for all other users. The group may read, because that is how a file gets
// into a container.
const tooOpen fs.FileMode = 0o026

// Read returns the contents of the file at path. The error is [fs.ErrNotExist], or the reason
// of a refusal: the file is not a regular file, is larger than most bytes, may be read by all
// users, or may be written by users other than its owner.
func Read(path string, most int64) ([]byte, error) { return read(path, most, tooOpen) }

// ReadAny is [Read] for a file that all users may read and write, such as a certificate.
func ReadAny(path string, most int64) ([]byte, error) { return read(path, most, 0) }

func read(path string, most int64, refused fs.FileMode) ([]byte, error) {
	// Before it is opened, because opening a pipe waits for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: name a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if info.Mode().Perm()&refused != 0 {
		return nil, fmt.Errorf("%s has the mode %04o, so that other users may read or write it: run chmod 600 %[1]s", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s is larger than %d KiB: make it smaller", path, most>>10)
	}
	return text, nil
}

// Replace writes a file with mode 0600, durably, and keeps its owner, so that an administrator
// does not take a file away from the server. It also keeps the rights of the file's group that
// are in keep. If path is a symbolic link, its target is replaced. Call it with the folder
// locked.
func Replace(path string, content []byte, keep fs.FileMode) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	folder := filepath.Dir(path)
	draft, err := os.CreateTemp(folder, draftPrefix(path)+"*") // of mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(draft.Name()) // the incomplete file; the error says enough
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	err = keepRights(draft, path, keep&0o070)
	if err == nil {
		_, err = draft.Write(content)
	}
	if err == nil {
		err = draft.Sync()
	}
	if err := errors.Join(err, draft.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft.Name(), path); err != nil {
		return err
	}
	return SyncFolder(folder)
}

// draftPrefix is how the name of a file begins that is not complete yet.
func draftPrefix(path string) string { return "." + filepath.Base(path) + ".new-" }

// Sweep removes the incomplete files that a crash left of earlier calls of [Replace] for path.
// Call it with the folder locked.
func Sweep(path string) error {
	folder := filepath.Dir(path)
	all, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("remove the incomplete files of %s: %w", path, err)
	}
	var errs []error
	for _, one := range all {
		if strings.HasPrefix(one.Name(), draftPrefix(path)) {
			errs = append(errs, os.Remove(filepath.Join(folder, one.Name())))
		}
	}
	return errors.Join(errs...)
}

// keepRights gives draft the owner of the file at path, if the file exists, and its group with
// its rights in keep, if it has any.
func keepRights(draft *os.File, path string, keep fs.FileMode) error {
	before, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := draft.Stat()
	if err != nil {
		return err
	}
	was, known := before.Sys().(*syscall.Stat_t)
	is, both := now.Sys().(*syscall.Stat_t)
	keep &= before.Mode()
	if known && both && (was.Uid != is.Uid || keep != 0 && was.Gid != is.Gid) {
		if err := draft.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("it belongs to another user or group: run this as its owner: %w", err)
		}
	}
	if keep == 0 {
		return nil
	}
	return draft.Chmod(0o600 | keep) // after Chown, so that no other group may read it
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// patience is how long Lock waits for other holders, which keep the lock for milliseconds.
const patience = 10 * time.Second

// Lock locks a folder, so that a writer of a file in it sees the changes of earlier writers.
// It waits for up to 10 s. The lock ends with the process at the latest.
func Lock(folder string) (unlock func(), err error) {
	return LockWithin(context.Background(), folder, patience)
}

// LockWithin is [Lock] with another patience, and a context that ends it.
func LockWithin(ctx context.Context, folder string, patience time.Duration) (unlock func(), err error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("lock a folder: %w", err)
	}
	for until := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // which unlocks it
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", folder, err), f.Close())
		case ctx.Err() != nil || time.Now().After(until):
			return nil, errors.Join(fmt.Errorf("another process holds the lock of %s: try again when it has ended", folder), f.Close())
		}
	}
}
