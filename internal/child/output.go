package child

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxRest is how much is still read from a pipe after the group was killed: the most that
// an unprivileged process can make a pipe hold.
const maxRest = 1 << 20

// output is our end of a pipe that the child writes to. A process that left the group may keep
// the other end open, so after the end of the group only the bytes in the pipe are read.
type output struct {
	file  *os.File
	rest  atomic.Bool // only the bytes in the pipe
	left  int         // bytes of the rest that are still read
	once  sync.Once
	ended func() // called once, when there is nothing more to read
}

// Read implements io.Reader.
func (o *output) Read(b []byte) (n int, err error) {
	defer func() {
		if err != nil {
			o.once.Do(o.ended)
		}
	}()
	if !o.rest.Load() {
		n, err = o.file.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return o.readRest(b)
}

// readRest reads without waiting.
func (o *output) readRest(b []byte) (n int, err error) {
	if b = b[:min(len(b), o.left)]; o.left == 0 {
		return 0, io.EOF
	}
	if err := o.file.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	raw, err := o.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, failed = readNow(fd, b)
		return true
	})
	if err := errors.Join(err, failed); err != nil {
		return 0, err
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	o.left -= n
	return n, nil
}

// finish ends the output after the bytes in the pipe.
func (o *output) finish() {
	o.rest.Store(true)
	if err := o.file.SetReadDeadline(time.Unix(1, 0)); errors.Is(err, os.ErrNoDeadline) {
		_ = o.file.Close()
	}
}

// Close closes our end: the child gets an error when it writes.
func (o *output) Close() error {
	o.once.Do(o.ended)
	return o.file.Close()
}
