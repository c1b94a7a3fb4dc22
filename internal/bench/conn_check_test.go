package bench

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answered is a connection on which one answer has come.
func answered(t *testing.T, answer string) *conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	go func() { _, _ = io.Copy(io.Discard, far) }() // ends when the pipe is closed
	return &conn{net: near, in: bufio.NewReader(strings.NewReader(answer))}
}

func TestPost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, answer, want, err string }{
		{name: "length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more", want: "hello"},
		{name: "chunks", answer: "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", want: "hello"},
		{name: "not found", answer: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", err: "404"},
		{name: "cut in the body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", err: "EOF"},
		{name: "cut between chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", err: "EOF"},
		{name: "a chunk that is longer than it says", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhel\r\n", err: "a chunk ends with"},
		{name: "no length", answer: "HTTP/1.1 200 OK\r\n\r\nhello", err: "neither"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body, err := answered(t, tc.answer).post([]byte("{}"))
			switch {
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("post() = %q, %v, want an error with %q", body, err, tc.err)
			case tc.err == "" && (err != nil || string(body) != tc.want):
				t.Errorf("post() = %q, %v, want %q", body, err, tc.want)
			}
		})
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	c := answered(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n6\r\n\ntwo\n\n\r\n7\r\nthree\n\n\r\n0\r\n\r\n")
	if err := c.open([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	var got []string
	see := func(stop error) func([]byte) error {
		return func(f []byte) error { got = append(got, string(f)); return stop }
	}
	if err := errors.Join(c.frames(see(errEnough)), c.frames(see(nil))); err != nil {
		t.Errorf("frames() = %v", err)
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	c = answered(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n")
	if err := c.open([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := c.frames(see(nil)); err == nil || !strings.Contains(err.Error(), "within a frame") {
		t.Errorf("frames() of a stream that is cut = %v, want an error", err)
	}
}

// What the checks are for: an answer that is wrong is not counted.
func TestFollower(t *testing.T) {
	t.Parallel()
	chunk := func(id string, i int) string {
		return "id: " + id + "-ab12\ndata: {\"result\":{\"artifactUpdate\":{\"taskId\":\"t\",\"artifact\":{\"parts\":[{\"text\":\"" + chunkText(i) + "\"}]}}}}"
	}
	end := "id: 99-ab12\ndata: {\"result\":{\"statusUpdate\":{\"taskId\":\"t\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}}}"
	for _, tc := range []struct {
		name   string
		frames []string
		err    string
	}{
		{name: "as it should be", frames: []string{chunk("3", 0), chunk("7", 1), end}},
		{name: "a comment", frames: []string{": still here", chunk("3", 0), chunk("7", 1), end}},
		{name: "lost", frames: []string{chunk("3", 0), end}, err: "after 1 of 2"},
		{name: "doubled", frames: []string{chunk("3", 0), chunk("4", 0)}, err: "chunk 0 came instead of chunk 1"},
		{name: "out of order", frames: []string{chunk("3", 1)}, err: "chunk 1 came instead of chunk 0"},
		{name: "an id again", frames: []string{chunk("3", 0), chunk("3", 1)}, err: "id 3 after 3"},
		{name: "no end", frames: []string{chunk("3", 0), chunk("7", 1)}, err: "before the task was completed"},
		{name: "an error", frames: []string{`data: {"error":{"code":-32603}}`}, err: "has an error"},
		{name: "no JSON", frames: []string{"data: {"}, err: "not JSON"},
		{name: "no task", frames: []string{`data: {"result":{}}`}, err: "names no task"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := follower{want: 2, numbers: true, whole: true}
			var err error
			for _, frame := range tc.frames {
				if err = f.frame([]byte(frame)); err != nil {
					break
				}
			}
			if err == nil {
				err = f.end()
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("follower says %v, want %q", err, tc.err)
			}
		})
	}
}
