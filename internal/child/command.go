package child

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"a2a-server/internal/visible"
)

// Command is a process to start.
type Command struct {
	// Argv is the program and its arguments. The program is an absolute path, a path
	// relative to Dir (with a slash), or a name, which is looked up in the PATH of Env.
	// There is no shell.
	Argv []string
	// Env is the whole environment, each entry "NAME=value". Nil: it is empty.
	Env []string
	// Dir is the working folder. Defaults to the server's own.
	Dir string
	// Stdin, Stdout and Stderr say which streams are pipes of the [Process]. Without a
	// pipe, input is empty and output is discarded.
	Stdin, Stdout, Stderr bool
	// Files are open files that the child gets as descriptors 3, 4, and so on. They may be
	// closed once Start has returned.
	Files []*os.File
	// Grace is how long the group may take to end after SIGTERM. Defaults to 3 s, which is
	// less than tools have.
	Grace time.Duration
	// Linger is how long other processes of the group may keep the output open after the
	// process itself has exited, before the group is killed. Defaults to 2 s.
	Linger time.Duration
}

// maxShown is how many characters of a name from outside are repeated in an error.
const maxShown = 200

// check returns an error if no system could run c, and completes c.
func (c *Command) check() error {
	if len(c.Argv) == 0 {
		return errors.New("exec: no command given")
	}
	for i, arg := range c.Argv {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("exec: argument %d contains a NUL character, which no argument can", i)
		}
	}
	for _, entry := range c.Env {
		name, value, ok := strings.Cut(entry, "=")
		switch { // values may be secrets, so they are not shown
		case !ok || name == "" || strings.ContainsRune(name, 0):
			return errors.New(`exec: an entry of the environment is not of the form NAME=value`)
		case strings.ContainsRune(value, 0):
			return fmt.Errorf("exec: the value of the environment variable %s contains a NUL character", visible.Clip(name, maxShown))
		}
	}
	if c.Env == nil {
		c.Env = []string{} // nil would be the server's own
	}
	c.Grace, c.Linger = cmp.Or(c.Grace, 3*time.Second), cmp.Or(c.Linger, 2*time.Second)
	return nil
}

// Check returns the error that [Start] would return for c now, as far as that is known
// without starting it: the program may still lack its interpreter.
func Check(c Command) error {
	_, err := c.prepare()
	return err
}

// prepare returns the command as package exec starts it, without its streams.
func (c *Command) prepare() (*exec.Cmd, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Dir != "" {
		switch info, err := os.Stat(c.Dir); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("exec: %w %s does not exist; create it, or name another one", ErrFolder, visible.Clip(c.Dir, maxShown))
		case err != nil:
			return nil, fmt.Errorf("exec: %w %s: %w", ErrFolder, visible.Clip(c.Dir, maxShown), plain(err))
		case !info.IsDir():
			return nil, fmt.Errorf("exec: %w %s is not a folder; name another one", ErrFolder, visible.Clip(c.Dir, maxShown))
		}
	}
	path, err := Find(c.Argv[0], c.Env, c.Dir)
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: path, Args: c.Argv, Env: c.Env, Dir: c.Dir, ExtraFiles: c.Files, SysProcAttr: attributes()}, nil
}
