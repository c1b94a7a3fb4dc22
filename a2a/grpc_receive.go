package a2a

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
)

// soon is how long a call may take to receive its message before it counts as a large one:
// one whose size nobody knows yet.
const soon = 100 * time.Millisecond

// incoming is what a call receives its message from: the transport's own stream. grpc's
// RecvMsg answers for itself when it refuses a message, without our details, and knows how
// large one is only when it has it.
type incoming interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// incomingOf returns where the message of a call comes from.
func incomingOf(ctx context.Context) (incoming, error) {
	in, ok := grpc.ServerTransportStreamFromContext(ctx).(incoming)
	if !ok {
		return nil, errors.New("the stream of a call has no messages: this version of grpc is not supported")
	}
	return in, nil
}

// errCompressed is the error of a message that is not sent as it is.
var errCompressed = errMediaType.saying("the message must be sent as it is: without compression, and without grpc-encoding")

// checkContent refuses messages in another coding than protobuf, or compressed ones.
func (c *grpcCall) checkContent() error {
	switch got := strings.ToLower(c.r.Header.Get("Content-Type")); got {
	case "application/grpc", "application/grpc+proto":
	default:
		return errMediaType.saying("the Content-Type must be application/grpc or application/grpc+proto")
	}
	in, err := incomingOf(c.ctx)
	if err != nil {
		return err
	}
	// grpc itself refuses a coding for which the process has no decompressor.
	if coding := in.RecvCompress(); coding != "" && coding != "identity" {
		return errCompressed
	}
	return nil
}

// arrival is what is known of a message: its size, or all of it.
type arrival struct {
	size int // more than httpd.FreeBody: reading it waits until there is memory
	body message
	err  error
}

// arrive sends what is known of the only message of a call. It reads a large one when
// proceed says so, and not at all when that is closed.
func arrive(in incoming, most int64, known chan<- arrival, proceed <-chan bool) {
	body, err := func() (message, error) {
		var head [5]byte // whether it is compressed, and its length
		if err := in.ReadMessageHeader(head[:]); err != nil {
			return nil, err
		}
		size := binary.BigEndian.Uint32(head[1:])
		switch {
		case head[0] != 0:
			return nil, errCompressed
		case int64(size) > most:
			return nil, transportError(http.StatusRequestEntityTooLarge)
		case size > httpd.FreeBody:
			known <- arrival{size: int(size)}
			if !<-proceed {
				return nil, io.ErrUnexpectedEOF // nobody waits for it
			}
		}
		data, err := in.Read(int(size))
		if err != nil {
			return nil, err
		}
		defer data.Free()
		switch err := in.ReadMessageHeader(head[:1]); {
		case err == nil:
			return nil, errInvalidRequest.saying("the call has more than one message")
		case !errors.Is(err, io.EOF):
			return nil, err
		}
		return data.Materialize(), nil
	}()
	known <- arrival{body: body, err: err}
}

// receive receives the message of a call. Its errors are 413 for one that is too large, 408
// for one that takes longer than limit, and 503 when large messages hold all their memory,
// which is known before they are received. Call release when the message is no longer needed.
func (c *grpcCall) receive(by auth.Principal, limit time.Duration) (m message, release func(), err error) {
	in, err := incomingOf(c.ctx)
	if err != nil {
		return nil, nil, err
	}
	known, proceed := make(chan arrival, 2), make(chan bool, 1)
	defer close(proceed)
	go arrive(in, c.g.s.cfg.MaxBody, known, proceed) // it outlives the call if the client does not send
	timer := time.NewTimer(min(soon, limit))
	defer timer.Stop()
	give := func() {} // back what is held
	defer func() {
		if err != nil {
			give()
		}
	}()
	take := func(n int) (err error) {
		give()
		if give, err = c.g.s.requests.Reserve(by, n); err != nil {
			give = func() {}
		}
		return err
	}
	for slow, large := false, false; ; {
		select {
		case got := <-known:
			switch {
			case got.err != nil:
				return nil, nil, c.notReceived(got.err)
			case got.size > 0:
				large = true
				if err := take(got.size); err != nil {
					return nil, nil, err
				}
				proceed <- true
				continue
			case !large:
				give()
				give = func() {}
			}
			return got.body, give, nil
		case <-c.ctx.Done():
			return nil, nil, context.Cause(c.ctx)
		case <-timer.C:
			if slow {
				return nil, nil, transportError(http.StatusRequestTimeout)
			}
			slow = true
			if !large {
				if err := take(int(c.g.s.cfg.MaxBody)); err != nil {
					return nil, nil, err
				}
			}
			timer.Reset(limit)
		}
	}
}

// notReceived returns the error of a call whose message could not be received.
func (c *grpcCall) notReceived(err error) error {
	switch {
	case errors.As(err, new(*wireError)):
		return err
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	}
	return errInvalidRequest.saying("the call has no message, or not all of it")
}
