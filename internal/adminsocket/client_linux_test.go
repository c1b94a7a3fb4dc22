package adminsocket

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"a2a-server/approval"
)

// broken listens on a socket, and does with each connection, whose request it has read, what
// do does. It counts the requests.
func broken(t *testing.T, do func(net.Conn)) (client *Client, requests func() int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), Name)
	s, err := listen(path)
	if err != nil {
		t.Fatal(err)
	}
	count, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			if n, err := c.Read(make([]byte, 64<<10)); n > 0 && err == nil {
				count++
			}
			do(c)
			_ = c.Close()
		}
	}()
	stop := func() int {
		_ = s.Close()
		<-ended
		return count
	}
	t.Cleanup(func() { stop() })
	return NewClient(path), stop
}

// A change that was sent and not answered may have been made: it is not sent again, and the
// error says so. A read has only failed.
func TestOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	says := func(text string) func(net.Conn) { return func(c net.Conn) { _, _ = c.Write([]byte(text)) } }
	for name, do := range map[string]func(net.Conn){
		"the end":            func(net.Conn) {},
		"half a header":      says("HTTP/1.1 200 O"),
		"half an answer":     says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
		"another protocol":   says("SSH-2.0-OpenSSH\r\n"),
		"no JSON":            says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
		"another error":      says("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno"),
		"a redirect":         says("HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1/tasks\r\nContent-Length: 0\r\n\r\n"),
		"an unclear failure": says("HTTP/1.1 500 No\r\nContent-Length: 44\r\n\r\n" + `{"error":{"reason":"UNCLEAR","message":"x"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, requests := broken(t, do)
			const id = "0194f0c0-0000-7000-8000-000000000000.a1"
			var unknown *OutcomeError
			_, decided := client.Decide(t.Context(), id, Query{}, Decision{Verb: approval.Approve, Digest: "x"})
			for what, err := range map[string]error{"decide": decided, "cancel": client.Cancel(t.Context(), id, Query{}), "delete": client.Delete(t.Context(), id, Query{})} {
				if !errors.As(err, &unknown) {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, read := client.Approval(t.Context(), id, Query{})
			if read == nil || errors.As(read, &unknown) {
				t.Errorf("a read: %v", read)
			}
			if n := requests(); n != 4 {
				t.Errorf("it was asked %d times, want 4", n)
			}
		})
	}
}

// What the server refuses has not been done, and the words are the server's.
func TestRefusalIsNoUnknownOutcome(t *testing.T) {
	t.Parallel()
	client, _ := broken(t, func(c net.Conn) {
		_, _ = c.Write([]byte("HTTP/1.1 409 Conflict\r\nContent-Length: 55\r\n\r\n" + `{"error":{"reason":"APPROVAL_CONFLICT","message":"no"}}`))
	})
	var refused *Error
	_, err := client.Decide(t.Context(), "a", Query{}, Decision{})
	if !errors.As(err, &refused) || refused.Status != http.StatusConflict || refused.Reason != string(approval.ReasonConflict) || err.Error() != "no" {
		t.Errorf("Decide() = %v", err)
	}
}

// Who interrupts a change that was sent does not know whether it was made; before that, it
// was not.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	client, _ := broken(t, func(net.Conn) {
		cancel()
		<-release
	})
	var unknown *OutcomeError
	if err := client.Cancel(ctx, "a", Query{}); !errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("Cancel() = %v", err)
	}
	if err := client.Cancel(ctx, "a", Query{}); errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("Cancel() of what was interrupted before = %v", err)
	}
	close(release)
}

// Each reason why nobody answers has its own next step, and nothing was sent.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	stale := filepath.Join(folder, "stale")
	left(t, stale)
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign, shared := filepath.Join(folder, "foreign"), filepath.Join(t.TempDir(), "shared")
	left(t, foreign)
	want := "has ended; start it again" // only root gives a socket to somebody else
	if os.Getuid() == 0 {
		if err := os.Chown(foreign, 4711, -1); err != nil {
			t.Fatal(err)
		}
		want = "belongs to user 4711"
	}
	left(t, shared)
	if err := os.Chmod(filepath.Dir(shared), 0o777); err != nil { //nolint:gosec // what is tested
		t.Fatal(err)
	}
	var unknown *OutcomeError
	for path, want := range map[string]string{
		foreign:                        want,
		shared:                         "cannot be trusted",
		filepath.Join(folder, Name):    "there is no socket",
		filepath.Join(deep(t), Name):   "there is no socket",
		stale:                          "has ended; start it again",
		file:                           "",
		filepath.Join(file, "x", Name): "",
	} {
		err := NewClient(path).Cancel(t.Context(), "a", Query{})
		if err == nil || errors.As(err, &unknown) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Dir(path)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if err := NewClient("/s").explain(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)}); !strings.Contains(err.Error(), "as the user who runs the server") || !errors.Is(syscall.EACCES, fs.ErrPermission) {
		t.Errorf("without permission: %v", err)
	}
}
