package adminsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"a2a-server/internal/privatefile"
)

// The modes of the socket: connecting takes the right to write.
const (
	socketMode = 0o600
	groupMode  = 0o660
)

// socket is the listening socket, and the file that is its name.
type socket struct {
	*net.UnixListener
	path string
	made fs.FileInfo // the file
}

// Listen makes the socket at path. It replaces the stale socket of an earlier server; a socket
// with a listener, or any other file, is an error. The folder must be writable only for the
// server's user and the users that it trusts. Members of the group, unless it is 0, may
// connect, too.
func Listen(path string, group int) (net.Listener, error) {
	if err := checkFolder(path); err != nil {
		return nil, err
	}
	unlock, err := privatefile.Lock(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if stale, err := isStale(path); err != nil {
		return nil, err
	} else if stale {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	how := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		// The file gets the mode of the socket, so that it never has another mode.
		if err := c.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), socketMode) }); err != nil {
			return err
		}
		return failed
	}}
	var l net.Listener
	err = near(path, func(name string) error {
		l, err = how.Listen(context.Background(), "unix", name) // it does not wait
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	on, ok := l.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("listen on %s: it is a %T", path, l), l.Close())
	}
	on.SetUnlinkOnClose(false) // its name may be from near, and the file another program's by then
	s := &socket{UnixListener: on, path: path}
	if s.made, err = os.Lstat(path); err == nil && s.made.Mode() != fs.ModeSocket|socketMode {
		err = fmt.Errorf("%s has the mode %v and not 0600, so that other users could connect: use a folder on a file system that keeps modes", path, s.made.Mode())
	}
	if err == nil && group != 0 {
		err = s.admit(group)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// admit lets a group connect.
func (s *socket) admit(group int) error {
	if err := os.Lchown(s.path, -1, group); err != nil {
		return fmt.Errorf("give the socket to its group, which takes the server's user to be a member of it: %w", err)
	}
	if err := os.Chmod(s.path, groupMode); err != nil {
		return fmt.Errorf("let the group connect: %w", err)
	}
	var err error
	s.made, err = os.Lstat(s.path)
	return err
}

// Check returns why [Listen] could not make a socket at path for a group, and makes nothing. Its error wraps
// [ErrListening] if a server has it.
func Check(path string, group int) error {
	groups, err := os.Getgroups()
	if err == nil && group != 0 && os.Geteuid() != 0 && group != os.Getegid() && !slices.Contains(groups, group) {
		return fmt.Errorf("admin socket: this user is not in the group %d of admin.group, so that it cannot give the socket to it: add the user to the group, or choose another", group)
	}
	if err := privatefile.CheckCreates(filepath.Dir(path)); err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	if err := checkFolder(path); err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	if _, err := isStale(path); err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	return nil
}

// checkFolder refuses a folder in which others could replace the socket.
func checkFolder(path string) error {
	if err := privatefile.CheckWriters(filepath.Dir(path)); err != nil {
		return fmt.Errorf("a socket in this folder could be replaced: %w", err)
	}
	return nil
}

// isStale reports whether path is a socket without a listener; without a file it is none.
func isStale(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode().Type() != fs.ModeSocket:
		return false, fmt.Errorf("%s is not a socket, and is not replaced: move it elsewhere", path)
	}
	c, err := Dial(context.Background(), path) // it does not wait
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil:
		_ = c.Close() // it was only to know
	}
	return false, fmt.Errorf("%w %s: stop it, or use another path", ErrListening, path)
}

// Close closes the socket and removes its file, if that is still the file that listen made.
func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	if now, statErr := os.Lstat(s.path); statErr == nil && s.made != nil && os.SameFile(now, s.made) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// Dial connects to a socket that can only be the server's.
func Dial(ctx context.Context, path string) (c net.Conn, err error) {
	if err := checkOwner(path); err != nil {
		return nil, err
	}
	err = near(path, func(name string) error {
		c, err = (&net.Dialer{}).DialContext(ctx, "unix", name)
		return err
	})
	return c, err
}

// checkOwner returns an error if a socket may belong to another program than the server: its
// owner has to be root, this user or the owner of its folder, and no other user may be able to
// write the folder.
func checkOwner(path string) error {
	folder := filepath.Dir(path)
	if err := privatefile.CheckWriters(folder); err != nil {
		return fmt.Errorf("the socket in it cannot be trusted: %w", err)
	}
	uid, known := ownerOf(path)
	server, _ := ownerOf(folder)
	if known && uid != 0 && uid != os.Geteuid() && uid != server {
		return fmt.Errorf("%s belongs to user %d, not to the owner of its folder, so it is not the server's socket: remove it", path, uid)
	}
	return nil
}

// OwnersOf returns the ids of the owner and the group of a file; known is false if it has none.
func OwnersOf(info fs.FileInfo) (uid, gid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

func ownerOf(path string) (uid int, known bool) {
	info, err := os.Stat(path)
	if err != nil {
		return -1, false
	}
	uid, _, known = OwnersOf(info)
	return uid, known
}

// longestName is how long the name of a socket may be: the kernel has 108 bytes for it, with
// a zero at the end.
const longestName = 107

// near calls do with a name of path that is short enough for a socket. For a long path, the
// name begins with its folder as the kernel lists it among the open files of this process.
func near(path string, do func(name string) error) error {
	if len(path) <= longestName {
		return do(path)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // it was only for its name
	return do("/proc/self/fd/" + strconv.Itoa(int(folder.Fd())) + "/" + filepath.Base(path))
}
