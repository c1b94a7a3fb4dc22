package grpc

import (
	"context"
	"net/http"
	"strings"
	"time"

	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
)

// largeAfter is how long a call may wait for its message before it counts as a large call: the size
// is known only when the whole message is there.
const largeAfter = 100 * time.Millisecond

// checkContent refuses messages in another coding than protobuf. The library refuses
// compressed messages: the process has no decompressor.
func (c *rpc) checkContent() error {
	switch got := strings.ToLower(c.r.Header.Get("Content-Type")); got {
	case "application/grpc", "application/grpc+proto":
		return nil
	}
	return wire.ErrMediaType.Saying("the Content-Type must be application/grpc or application/grpc+proto")
}

// receive receives the message of a call, of at most MaxBody bytes. The library itself answers
// when a message is too large or not as gRPC has it. The other errors are 408 for a message that
// takes longer than limit, and 503 when large messages hold all their memory. Call release when
// the message is no longer needed.
func (c *rpc) receive(by auth.Principal, limit time.Duration) (m message, release func(), err error) {
	var body message
	arrived := make(chan error, 1)
	go func() { arrived <- c.ss.RecvMsg(&body) }() // it outlives the call if the client does not send
	timer := time.NewTimer(min(largeAfter, limit))
	defer timer.Stop()
	var give func() // returns the reserved memory; nil: none is reserved
	defer func() {
		if err != nil && give != nil {
			give()
		}
	}()
	for {
		select {
		case wrong := <-arrived:
			switch large := len(body) > httpd.FreeBody; {
			case c.ctx.Err() != nil:
				return nil, nil, context.Cause(c.ctx)
			case wrong != nil:
				return nil, nil, wire.ErrInvalidRequest.Saying("the call has no message, or not all of it")
			case large && give == nil:
				if give, err = c.service.Requests.Reserve(by, len(body)); err != nil {
					return nil, nil, err
				}
			case !large && give != nil:
				give()
				give = nil
			}
			if give == nil {
				give = func() {}
			}
			return body, give, nil
		case <-c.ctx.Done():
			return nil, nil, context.Cause(c.ctx)
		case <-timer.C:
			if give != nil {
				return nil, nil, wire.Transport(http.StatusRequestTimeout)
			}
			if give, err = c.service.Requests.Reserve(by, int(c.service.MaxBody)); err != nil {
				return nil, nil, err
			}
			timer.Reset(limit)
		}
	}
}
