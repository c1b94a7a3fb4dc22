package mcptoolset

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"a2a-server/internal/egress"
)

// publicError is an error in the words of this package, which callers may read. Any other error may
// quote the server, its program or the network: it is for the log and for [Toolset.Status],
// and callers learn only that it occurred.
type publicError string

func (s publicError) Error() string { return string(s) }

func publicErrorf(format string, args ...any) error { return publicError(fmt.Sprintf(format, args...)) }

// brief returns the callers' version of an error.
func brief(err error) string {
	if err == nil {
		return "it is not connected"
	}
	if s, ok := errors.AsType[publicError](err); ok {
		return string(s)
	}
	if _, ok := errors.AsType[*egress.RefusedError](err); ok {
		return "its address is not allowed"
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, end) {
			return "the connection ended"
		}
	}
	return "the log of this server says why"
}
