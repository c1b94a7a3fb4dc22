package mcptoolset

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/egress"
)

// The limits of a connection of lines that cannot be configured.
const (
	maxGarbage  = 1 << 20 // bytes of lines that are no messages
	maxRequests = 32      // of the server, without an answer
)

// errClosed is the cause of death of a connection that this side closed.
const errClosed = publicError("the connection was closed")

// lines is a link, and its mcp.Connection, of a JSON value per line. Unlike the SDK's own, a write ends
// with its context, a line without a message is skipped, and only needed notifications reach
// the SDK, which queues them without a limit.
type lines struct {
	rwc     io.ReadWriteCloser
	in      *bufio.Reader
	max     int
	session *session // hears notifications
	garbled int      // bytes; Read, which has one caller at a time, needs no lock

	mu      sync.Mutex
	asked   int                     // requests of the server that have no answer yet
	pending map[jsonrpc.ID]struct{} // their ids, if the server has not canceled them

	out    chan *outgoing
	writer sync.WaitGroup

	once sync.Once
	dead chan struct{} // closed once err is set
	err  error
}

// outgoing is a message that is being written.
type outgoing struct {
	line []byte
	none bool       // nothing of it was written; set before done
	done chan error // capacity 1
}

// newLines returns a connection over rwc, which it closes. It must be closed.
func newLines(rwc io.ReadWriteCloser, limit int, s *session) *lines {
	l := &lines{rwc: rwc, in: bufio.NewReaderSize(rwc, 64<<10), max: limit, session: s, out: make(chan *outgoing), dead: make(chan struct{}), pending: map[jsonrpc.ID]struct{}{}}
	l.writer.Go(l.write)
	return l
}

// Connect implements mcp.Transport.
func (l *lines) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// SessionID implements mcp.Connection.
func (l *lines) SessionID() string { return "" }

// Read implements mcp.Connection. Close ends it.
func (l *lines) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := l.line()
		if err != nil {
			l.fail(err)
			return nil, l.err
		}
		if !utf8.Valid(line) {
			line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
		}
		msg, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			if l.garbled += len(line); l.garbled > maxGarbage {
				l.fail(publicError("the server writes lines that are no messages of MCP; the log has the first"))
				return nil, l.err
			}
			l.session.garbage(string(line[:min(len(line), 200)]))
			continue
		}
		if !l.wanted(msg) { //nolint:contextcheck // progress belongs to a call, and has its context
			continue
		}
		// Each request takes a goroutine until its answer is written.
		if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && l.ask(req.ID) > maxRequests {
			l.fail(publicErrorf("the server has sent %d requests, and has read none of the answers", maxRequests))
			return nil, l.err
		}
		return msg, nil
	}
}

// ask counts a request of the server, and returns how many have no answer.
func (l *lines) ask(id jsonrpc.ID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	l.pending[id] = struct{}{}
	return l.asked
}

// answered reverts ask.
func (l *lines) answered(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked--
	delete(l.pending, id)
}

// canceled reports whether the server cancels one of its own requests for the first time.
func (l *lines) canceled(params json.RawMessage) bool {
	var p mcp.CancelledParams
	if err := json.Unmarshal(params, &p); err != nil {
		return false // nothing can be canceled by it
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.pending[id]
	delete(l.pending, id)
	return ok
}

// wanted reports whether the SDK has to see a message. Of notifications it needs only that
// the list of tools has changed, because it caches the list, and that the server does not
// wait for the answer to a request any longer.
func (l *lines) wanted(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.IsCall() {
		return true
	}
	switch req.Method {
	case "notifications/progress":
		l.session.progressed(req.Params)
	case "notifications/tools/list_changed":
		return l.session.changed()
	case "notifications/cancelled":
		return l.canceled(req.Params)
	}
	return false
}

// line returns the next line that is not blank, without its end. It is valid until the
// next call.
func (l *lines) line() ([]byte, error) {
	for {
		line, err := l.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line = bytes.Clone(line)
			for errors.Is(err, bufio.ErrBufferFull) && len(line) <= l.max {
				var more []byte
				more, err = l.in.ReadSlice('\n')
				line = append(line, more...)
			}
		}
		if len(line) > l.max+1 {
			return nil, publicErrorf("the server sent a message of more than %d bytes", l.max)
		}
		if err != nil { // the text before it is half a message
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// Write implements mcp.Connection. It returns when the message is written, ctx has ended
// or the connection is dead. A request trace in ctx has been sent from the moment that the message
// is handed to the writer.
func (l *lines) Write(ctx context.Context, msg jsonrpc.Message) error {
	if resp, ok := msg.(*jsonrpc.Response); ok {
		defer l.answered(resp.ID)
	}
	if ctx.Err() != nil { // select would choose at random
		return ctx.Err()
	}
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	o := &outgoing{line: append(line, '\n'), done: make(chan error, 1)}
	select {
	case l.out <- o:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.dead:
		return l.err
	}
	if f := egress.TraceOf(ctx); f != nil {
		f.Sent.Store(true)
	}
	select {
	case err := <-o.done:
		if f := egress.TraceOf(ctx); f != nil && err != nil && o.none {
			f.Sent.Store(false)
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.dead:
		return l.err
	}
}

// write writes the messages in turn, until the connection is dead. A busy server may not read
// for a while, so a write may take any time; callers stop waiting at their own deadlines.
func (l *lines) write() {
	for {
		select {
		case <-l.dead:
			return
		case o := <-l.out:
			n, err := l.rwc.Write(o.line)
			o.none = n == 0
			o.done <- err
			if err != nil {
				l.fail(err)
				return
			}
		}
	}
}

// fail ends the connection because of err. Only the first cause counts.
func (l *lines) fail(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.dead)
		// The stream is given up; why is in err.
		_ = l.rwc.Close()
	})
}

// cause returns why the connection is dead, nil if it is not.
func (l *lines) cause() error {
	select {
	case <-l.dead:
		return l.err
	default:
		return nil
	}
}

// Close implements mcp.Connection.
func (l *lines) Close() error {
	l.kill()
	return nil
}

func (l *lines) kill()                   { l.fail(errClosed) }
func (l *lines) release()                { l.writer.Wait() }
func (l *lines) explain(err error) error { return err }
