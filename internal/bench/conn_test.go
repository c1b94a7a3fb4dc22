package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// conn is one kept connection of HTTP/1.1, written and read by hand so that the
// generator takes little of the processor that it shares with the server. It is
// used by one goroutine, for one request after the other.
type conn struct {
	net        net.Conn
	in         *bufio.Reader
	credential string // a line of the header; "": none
	head       string
	out        []byte
	body       []byte // of the answer; overwritten by the next
}

// dial connects, for at most limit.
func dial(addr string, limit time.Duration) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{
		net: c, in: bufio.NewReaderSize(c, 64<<10),
		head: "Host: " + addr + "\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: ",
	}, nil
}

func (c *conn) close() { _ = c.net.Close() }

// by makes the connection's requests those of a caller.
func (c *conn) by(caller string) *conn { return c.with(callerHeader + ": " + caller) }

// with makes the connection's requests those of somebody with a credential, a line of the
// header.
func (c *conn) with(credential string) *conn {
	c.credential = credential + "\r\n"
	return c
}

// speaking makes the connection's requests those of a version of A2A.
func (c *conn) speaking(version string) *conn {
	c.head = strings.Replace(c.head, "A2A-Version: 1.0", "A2A-Version: "+version, 1)
	return c
}

// send writes a request.
func (c *conn) send(body []byte) error {
	c.out = append(c.out[:0], "POST / HTTP/1.1\r\n"...)
	c.out = append(c.out, c.credential...)
	c.out = append(c.out, c.head...)
	c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, body...)
	_, err := c.net.Write(c.out)
	return err
}

// statusError is the error of an answer whose status is not 200.
type statusError struct{ line string }

func (e *statusError) Error() string { return fmt.Sprintf("the server answered %q", e.line) }

// header reads the header of an answer and returns the length of its body, or -1
// when it comes in chunks. A status other than 200 is a *statusError.
func (c *conn) header() (length int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	wrong := ""
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		wrong = string(line)
	}
	length = -2
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, fmt.Errorf("read Content-Length: %w", err)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")) && string(value) == "chunked":
			length = -1
		}
	}
	switch {
	case wrong != "":
		return length, &statusError{strings.TrimSpace(wrong)}
	case length == -2:
		return 0, errors.New("the answer has neither Content-Length nor chunks")
	}
	return length, nil
}

// more adds n bytes of the connection to the body.
func (c *conn) more(n int) error {
	at := len(c.body)
	if cap(c.body)-at < n {
		c.body = append(make([]byte, 0, 2*(at+n)), c.body...)
	}
	c.body = c.body[:at+n]
	_, err := io.ReadFull(c.in, c.body[at:])
	return err
}

// chunk adds the next chunk of the body and returns its length; 0 is the end.
func (c *conn) chunk() (int, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(bytes.TrimRight(line, "\r\n")), 16, 31)
	if err != nil {
		return 0, fmt.Errorf("read the length of a chunk: %w", err)
	}
	if err := c.more(int(n)); err != nil {
		return 0, err
	}
	if line, err = c.in.ReadSlice('\n'); err == nil && string(line) != "\r\n" {
		err = fmt.Errorf("a chunk ends with %q", line)
	}
	return int(n), err
}

// post sends a request and returns the body of the answer, which the next overwrites.
func (c *conn) post(body []byte) ([]byte, error) {
	if err := c.send(body); err != nil {
		return nil, err
	}
	length, err := c.header()
	c.body = c.body[:0]
	if _, is := errors.AsType[*statusError](err); is && length >= 0 {
		return nil, cmp.Or(c.more(length), err)
	}
	if err != nil {
		return nil, err
	}
	if length >= 0 {
		err = c.more(length)
		return c.body, err
	}
	for {
		if n, err := c.chunk(); n == 0 || err != nil {
			return c.body, err
		}
	}
}

// errEnough is returned by the function given to frames to stop before the end.
var errEnough = errors.New("enough")

// open sends a request whose answer is a stream, and reads its header.
func (c *conn) open(body []byte) error {
	if err := c.send(body); err != nil {
		return err
	}
	length, err := c.header()
	if err == nil && length != -1 {
		if c.body = c.body[:0]; c.more(length) == nil {
			err = fmt.Errorf("the answer is no stream but %s", c.body)
		}
	}
	c.body = c.body[:0]
	return err
}

// frames calls each with every frame of the stream up to its end, without the blank
// line after it. The bytes are good until each returns. It continues after the frame
// for which each returned errEnough when it is called again.
func (c *conn) frames(each func(frame []byte) error) error {
	for {
		at := 0
		for {
			n := bytes.Index(c.body[at:], []byte("\n\n"))
			if n < 0 {
				break
			}
			err := each(c.body[at : at+n])
			if at += n + 2; err != nil {
				c.body = c.body[:copy(c.body, c.body[at:])]
				if errors.Is(err, errEnough) {
					return nil
				}
				return err
			}
		}
		c.body = c.body[:copy(c.body, c.body[at:])]
		switch n, err := c.chunk(); {
		case err != nil:
			return err
		case n == 0 && len(c.body) > 0:
			return fmt.Errorf("the stream ends within a frame: %q", c.body)
		case n == 0:
			return nil
		}
	}
}
