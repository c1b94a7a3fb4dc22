package a2aserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const both = list + "Content-Length: 46\r\nTransfer-Encoding: chunked\r\n\r\n"

// What net/http would answer itself is held to the same rules, and hides nothing of the
// requests after it.
func TestOptionsOfTheServer(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory"}))
	options := "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n"
	l := in.dial(t)
	l.ask(options + "\r\n")
	if status, body, closed := l.ask(both + chunkedBody()); status != http.StatusBadRequest || !closed {
		t.Errorf("both lengths after OPTIONS * = %d %s, closed %t, want 400 and closed", status, body, closed)
	}
	if status, body, closed := in.dial(t).ask(options + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"); status != http.StatusBadRequest || !closed {
		t.Errorf("OPTIONS * with both lengths = %d %s, closed %t, want 400 and closed", status, body, closed)
	}
	if status, body, _ := in.dial(t).ask("OPTIONS * HTTP/1.1\r\nHost: attacker.example\r\n\r\n"); status != http.StatusForbidden {
		t.Errorf("OPTIONS * to a foreign host = %d %s, want 403", status, body)
	}
}

// HTTP/1.0 knows no Transfer-Encoding: where it is named, the length is in doubt.
func TestEncodingInAnOldVersion(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory"}))
	old := strings.Replace(list, "1.1", "1.0", 1) + "Connection: keep-alive\r\n"
	if status, body, closed := in.dial(t).ask(old + "Transfer-Encoding: chunked\r\n\r\n" + chunkedBody()); status != http.StatusBadRequest || !closed {
		t.Errorf("chunked = %d %s, closed %t, want 400 and closed", status, body, closed)
	}
	l := in.dial(t)
	l.ask(probe + old + "Content-Length: 46\r\nTransfer-Encoding: chunked\r\n\r\n" + listBody)
	if status, body, closed := l.ask(); status != http.StatusBadRequest || !closed {
		t.Errorf("both, after another = %d %s, closed %t, want 400 and closed", status, body, closed)
	}
	if status, body, _ := in.dial(t).ask(old + "Content-Length: 46\r\n\r\n" + listBody); status != http.StatusOK {
		t.Errorf("a length alone = %d %s, want 200", status, body)
	}
}

// A body does not make the request after it look as if it had been seen whole.
func TestBodyOfARequestThatWasNotSeen(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory"}))
	third := list + "Content-Length: 46\r\n"
	body := "{" + strings.Repeat(" ", len(third)-3) + "\n\n" + listBody[1:] // an empty line where third ends
	l := in.dial(t)
	for _, text := range []string{
		list + "Transfer-Encoding: chunked\r\n\r\n" + chunkedBody() + list + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)),
		body + third,
	} {
		if status, answer, _ := l.ask(text); status != http.StatusOK {
			t.Fatalf("%q = %d %s", text, status, answer)
		}
	}
	if status, answer, closed := l.ask("Transfer-Encoding: chunked\r\n\r\n" + chunkedBody()); status != http.StatusBadRequest || !closed {
		t.Errorf("both lengths = %d %s, closed %t, want 400 and closed", status, answer, closed)
	}
}

// Who has read an answer whole has waited for it, also when its handler is not done.
func TestChunkedAfterALargeAnswer(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "log.level": "info"}))
	id := in.send(t, "m1", "/echo text="+strings.Repeat("x", 100_000)).ID
	for _, get := range []string{
		fmt.Sprintf("GET /tasks/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", id),
		list + "Transfer-Encoding: chunked\r\n\r\n" + func() string {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":%q}}`, id)
			return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		}(),
	} {
		l := in.dial(t)
		for i := range 40 {
			if status, body, _ := l.ask(get); status != http.StatusOK || len(body) < 100_000 {
				t.Fatalf("%.30q = %d, %d bytes", get, status, len(body))
			}
			if status, body, _ := l.ask(list+"Transfer-Encoding: chunked\r\n\r\n", chunkedBody()); status != http.StatusOK {
				t.Fatalf("%.30q: a chunked request after answer %d = %d %s, want 200", get, i, status, body)
			}
		}
	}
}
