package e2e_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

const (
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	kindData, kindHeaders, kindSettings, kindContinuation = 0x0, 0x1, 0x4, 0x9
	endStream, endHeaders                                 = 0x1, 0x4
)

// frame is a frame of HTTP/2 with the length of its payload.
func frame(kind, flags byte, stream int, payload string) string {
	return frameOf(len(payload), kind, flags, stream) + payload
}

func frameOf(length int, kind, flags byte, stream int) string {
	head := []byte{byte(length >> 16), byte(length >> 8), byte(length), kind, flags}
	return string(binary.BigEndian.AppendUint32(head, uint32(stream)))
}

// fields are names and values in turn, as a header block has them that knows no tables.
func fields(all ...string) (block string) {
	for i := 0; i < len(all); i += 2 {
		block += fmt.Sprintf("\x00%c%s%c%s", len(all[i]), all[i], len(all[i+1]), all[i+1])
	}
	return block
}

// take reads the next frame that is of a stream.
func (l *line) take() (kind byte, payload string, err error) {
	for {
		var head [9]byte
		if _, err := io.ReadFull(l.r, head[:]); err != nil {
			return 0, "", err
		}
		text := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(l.r, text); err != nil {
			return 0, "", err
		}
		if binary.BigEndian.Uint32(head[5:]) != 0 {
			return head[3], string(text), nil
		}
	}
}

func (l *line) write(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l, text); err != nil {
		l.t.Fatal(err)
	}
}

// ended reports that the server closes the connection.
func (l *line) ended() {
	l.t.Helper()
	l.inTime()
	// It may be reset, because of what was not read.
	if _, err := io.Copy(io.Discard, l.r); errors.Is(err, os.ErrDeadlineExceeded) {
		l.t.Error("a header that does not end: the connection stays")
	}
}

// The header of a request comes in time in HTTP/2, too, whatever part of it is missing.
func TestHeaderOfHTTP2ComesInTime(t *testing.T) {
	t.Parallel()
	block := fields(":method", "GET", ":scheme", "http", ":path", "/livez", ":authority", "localhost")
	for name, text := range map[string]string{
		"no continuation":            frame(kindHeaders, endStream, 1, block),
		"a frame that does not end":  frameOf(len(block)+1, kindHeaders, endStream|endHeaders, 1) + block,
		"continuations without end":  frame(kindHeaders, endStream, 1, block[:9]) + frame(kindContinuation, 0, 1, block[9:]) + frame(kindContinuation, 0, 1, ""),
		"the second of a connection": frame(kindHeaders, endStream|endHeaders, 1, block) + frame(kindHeaders, endStream, 3, block),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := start(t, load(t, map[string]string{"store": "memory", "limits.read_timeout": "50ms"}))
			l := in.dial(t)
			l.write(preface + frame(kindSettings, 0, 0, "") + text)
			l.ended()
		})
	}
}

// A stream outlasts the time of headers, also of those that came in pieces before and
// after its request; half a header beside it does not.
func TestHeaderOfHTTP2BesideAStream(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "limits.read_timeout": "2s"}))
	l := in.dial(t)
	block := fields(":method", "POST", ":scheme", "http", ":path", "/", ":authority", "localhost",
		"content-type", "application/json", "a2a-version", "1.0")
	trailer := fields("x-sum", "1") // after which net/http clears no deadline
	l.write(preface + frame(kindSettings, 0, 0, "") +
		frame(kindHeaders, 0, 1, block[:20]) + frame(kindContinuation, endHeaders, 1, block[20:]) +
		frame(kindData, 0, 1, `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":`+
			`{"calls":[{"tool":"stream","args":{"chunks":1000,"interval":"100ms"}}]}}]}}}`) +
		frame(kindHeaders, endStream, 1, trailer[:3]) + frame(kindContinuation, endHeaders, 1, trailer[3:]))
	for began, n := time.Now(), 0; n < 4 || time.Since(began) < 5*time.Second; n++ {
		if kind, text, err := l.take(); err != nil || kind != kindHeaders && kind != kindData {
			t.Fatalf("the stream ends after %d frames: kind %d, %q, %v", n, kind, text, err)
		}
	}
	l.write(frame(kindHeaders, endStream, 3, block))
	l.ended()
}
