package commandtool

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"a2a-server/internal/visible"
)

// firstFile is the descriptor with which the files of a command begin.
const firstFile = 3

// inFolder checks the file arguments of a call, replaces their values by the command's
// arguments, and returns the files to pass open, in the order of their descriptors, also with an error.
func (t *command) inFolder(values map[string]string) (open []*os.File, err error) {
	var names []string
	for name, arg := range t.config.Args {
		if _, has := values[name]; has && arg.Type == file {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	root, err := os.OpenRoot(t.config.Dir)
	if err != nil {
		return nil, fmt.Errorf("the folder of the tool: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range names {
		arg, path := t.config.Args[name], values[name]
		if arg.Open {
			f, err := openFile(root, path)
			if err != nil {
				return open, invalid(name, "%s: %v", visible.Clip(path, maxShown), err)
			}
			values[name] = fmt.Sprintf("/dev/fd/%d", firstFile+len(open))
			open = append(open, f)
			continue
		}
		if err := checkFile(root, path, arg.MayBeMissing); err != nil {
			return open, invalid(name, "%s: %v", visible.Clip(path, maxShown), err)
		}
	}
	return open, nil
}

// named replaces the values of file arguments by paths that are relative to the folder. It
// looks only at the names.
func (t *command) named(values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if t.config.Args[name].Type != file {
			continue
		}
		path, err := relative(t.config.Dir, values[name])
		if err != nil {
			return invalid(name, "%v", err)
		}
		if values[name] = path; strings.HasPrefix(path, "-") {
			values[name] = "." + string(filepath.Separator) + path
		}
	}
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// relative returns path relative to folder. It looks only at the names.
func relative(folder, path string) (string, error) {
	outside := fmt.Errorf("%s is outside of the tool's folder", visible.Clip(path, maxShown))
	if filepath.IsAbs(path) {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return "", err
		}
		if path, err = filepath.Rel(absolute, path); err != nil {
			return "", outside
		}
	}
	// ".." is not resolved by name: the element before it may be a symbolic link.
	if !filepath.IsLocal(path) {
		return "", outside
	}
	return path, nil
}

// checkFile refuses a path that is not in the folder.
func checkFile(root *os.Root, path string, mayBeMissing bool) error {
	info, err := root.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && mayBeMissing {
		// A symbolic link to a missing file outside is another error.
		info, err = root.Stat(filepath.Dir(path))
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		return reason(err)
	}
	switch {
	case err != nil:
		return reason(err)
	case !info.Mode().IsRegular() && !info.IsDir():
		return errors.New("is neither a file nor a folder")
	}
	return nil
}

// openFile opens a regular file for reading. It does not wait for a writer of a pipe.
func openFile(root *os.Root, path string) (*os.File, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, reason(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, reason(err)
	}
	return f, nil
}

// reason is the error without the operation and the path.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
