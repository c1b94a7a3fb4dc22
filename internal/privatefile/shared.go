package privatefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// makes are the rights to a folder that making a file in it takes, W_OK and X_OK of access(2).
const makes = 2 | 1

// CheckWriters returns an error if a file or folder can be written by all users, or by a group
// that this process is not in: its content may then be another user's. path is for the error.
// A path that does not exist is no error.
func CheckWriters(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // whoever opens it says what is wrong
	}
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		return fmt.Errorf("%s has the mode %04o, so that every user of this machine may write it: run chmod o-w %[1]s", path, mode)
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if mode&0o020 == 0 || !ok || int(of.Gid) == os.Getegid() {
		return nil
	}
	if groups, err := os.Getgroups(); err == nil && slices.Contains(groups, int(of.Gid)) {
		return nil
	}
	return fmt.Errorf("%s has the mode %04o, so that group %d may write it, in which this user is not: run chmod g-w %[1]s", path, mode, of.Gid)
}

// CheckCreates returns why this process could not make files in a folder, or the folder itself, if it
// does not exist.
func CheckCreates(folder string) error {
	path, err := filepath.Abs(folder)
	for err == nil {
		info, missing := os.Stat(path)
		if _, link := os.Lstat(path); errors.Is(missing, fs.ErrNotExist) && link != nil && path != filepath.Dir(path) {
			path = filepath.Dir(path)
			continue
		}
		if err = missing; err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder", path)
		}
		if err == nil {
			err = syscall.Access(path, makes)
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("this user cannot make files in %s: %w: choose another folder, or change the rights of %s", folder, err, path)
}

// CheckOwn returns an error if another user than this one or root may have written a file that is obeyed, such
// as a file with commands: it or its folder belongs to another user, its group or all users may write it, or
// all users may replace it in its folder. A path that does not exist is no error.
func CheckOwn(path string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil //nolint:nilerr // whoever opens it says what is wrong
	}
	for _, one := range []struct {
		path    string
		refused fs.FileMode
	}{{path, 0o022}, {filepath.Dir(path), 0o002}} {
		info, err := os.Stat(one.path)
		if err != nil {
			return err
		}
		if mode := info.Mode(); mode.Perm()&one.refused != 0 && mode&fs.ModeSticky == 0 {
			return fmt.Errorf("%s has the mode %04o, so that other users may write it: run chmod go-w %[1]s", one.path, mode.Perm())
		}
		if of, ok := info.Sys().(*syscall.Stat_t); ok && of.Uid != 0 && int(of.Uid) != os.Geteuid() {
			return fmt.Errorf("%s belongs to user %d: use a file of your own", one.path, of.Uid)
		}
	}
	return nil
}
