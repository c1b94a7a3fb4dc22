package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"a2a-server/internal/visible"
)

var (
	// ErrNotFound means that a program was looked up and is not installed.
	ErrNotFound = errors.New("not found")
	// ErrFolder means that the folder in which a program was to run cannot be used.
	ErrFolder = errors.New("the working folder")
)

// Find returns the absolute path of the program that [Start] would run for the first
// element of a command, with env and dir as in [Command]. The current folder is never
// searched: relative entries of PATH are skipped. If there is no such program, the error
// wraps [ErrNotFound].
func Find(name string, env []string, dir string) (string, error) {
	if name == "" {
		return "", errors.New("exec: the name of the program is empty")
	}
	if strings.ContainsRune(name, filepath.Separator) {
		return findFile(name, dir)
	}
	path, ok := lookup(env, "PATH")
	if !ok || path == "" {
		return "", fmt.Errorf("exec: %s: %w: its environment has no PATH; set PATH, or name the program by its absolute path", visible.Quote(name, maxShown), ErrNotFound)
	}
	denied := ""
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		file := filepath.Join(folder, name)
		found, err := exec.LookPath(file)
		if err == nil {
			return found, nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == "" {
			denied = file
		}
	}
	if denied != "" {
		return "", fmt.Errorf("exec: %s: %w: %s is not executable; chmod +x it", visible.Quote(name, maxShown), ErrNotFound, visible.Clip(denied, maxShown))
	}
	return "", fmt.Errorf("exec: %s: %w in PATH (%s); install it, or name it by its absolute path", visible.Quote(name, maxShown), ErrNotFound, visible.Clip(path, maxShown))
}

func findFile(name, dir string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := filepath.Abs(name)
	if err == nil {
		path, err = exec.LookPath(path)
	}
	shown := visible.Clip(name, maxShown)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("exec: %s: %w: there is no such file", shown, ErrNotFound)
	case errors.Is(err, syscall.EISDIR):
		return "", fmt.Errorf("exec: %s is a folder, not a program", shown)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("exec: %s is not executable; chmod +x it", shown)
	}
	return "", fmt.Errorf("exec: %s: %w", shown, plain(err))
}

// lookup returns the value of a variable. As in a process, the last entry counts.
func lookup(env []string, name string) (value string, ok bool) {
	for _, entry := range env {
		if v, is := strings.CutPrefix(entry, name+"="); is {
			value, ok = v, true
		}
	}
	return value, ok
}

// plain returns the system's reason, without the operation and the path, which the caller
// adds.
func plain(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err
}

// notStarted explains why the system did not start a program that is there.
func notStarted(path string, err error) error {
	shown := visible.Clip(path, maxShown)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("exec: %s: the interpreter or loader that it names is not installed: %w", shown, plain(err))
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("exec: %s: neither a program for this system nor a script that begins with #!: %w", shown, plain(err))
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("exec: %s: its arguments and environment are longer than the system accepts: %w", shown, plain(err))
	}
	return fmt.Errorf("exec: %s: %w", shown, plain(err))
}
