package e2e_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
)

// newKey adds an API key while the server runs.
func (w *attacked) newKey(t *testing.T, id string) http.Header {
	t.Helper()
	w.keys[id] = newKey(t, w.keyFile, apikey.Key{ID: id, Tenant: "acme", Roles: []string{auth.RoleRequester}})
	w.reload(t)
	return w.keyed(id)
}

// aborted stands for the answer to a message that has waited for more than a beat, and whose
// connection was then aborted.
const aborted = "aborted after spaces"

// lasting asks for an operation that lasts until w.release, of a new task. It returns once
// the task runs; what it was answered follows when the answer has ended.
func (w *attacked) lasting(t *testing.T, b attackBinding, header http.Header, op attackOperation) (answer <-chan string) {
	t.Helper()
	task, text := "", "/hold text="+victims+rand.Text() // so that it is no message that was sent before
	if op.name == "SubscribeToTask" {
		task = w.create(t, header, text)
	} else {
		op.params = `{"message":{"messageId":"m-` + text + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}`
	}
	ended, begun := make(chan string, 1), make(chan struct{})
	method, path, body := b.put(op, task)
	go func() {
		begin := sync.OnceFunc(func() { close(begun) })
		defer begin()
		text, err := w.read(t.Context(), header, method, path, body, begin)
		switch {
		case op.name == "SendMessage" && isAborted(err) && strings.TrimSpace(text) == "":
			text = aborted
		case err != nil:
			t.Errorf("%s %s: %v after %s", method, path, err, text)
		}
		ended <- text
	}()
	if task == "" {
		select {
		case <-w.entered:
		case text := <-ended:
			t.Fatalf("%s %s ends before its task runs: %s", method, path, text)
		}
	}
	if op.name != "SendMessage" {
		<-begun
	}
	return ended
}

// isAborted reports whether the server has aborted the connection, in HTTP/1.1, or the stream, in
// HTTP/2, whose error net/http does not export.
func isAborted(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || err != nil && strings.Contains(err.Error(), "INTERNAL_ERROR; received from peer")
}

// read makes a request and reads its answer to the end. It calls begin at the first event of
// a stream.
func (w *attacked) read(ctx context.Context, header http.Header, method, path, body string, begin func()) (text string, err error) {
	resp, err := w.open(ctx, header, method, path, body)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if text += line; strings.HasPrefix(line, "data:") {
			begin()
		}
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
	}
}

// lasts is an operation that lasts, as somebody has asked for it.
type lasts struct {
	who, operation string
	answer         <-chan string
	expires        time.Time // of the credential; zero: it does not
}

// lastingOperations are the operations that last.
var lastingOperations = []string{"SendMessage", "SendStreamingMessage", "SubscribeToTask"}

// lastingAll asks for all operations that last.
func (w *attacked) lastingAll(t *testing.T, b attackBinding, who string, header http.Header) (all []lasts) {
	t.Helper()
	for _, name := range lastingOperations {
		all = append(all, lasts{who: b.name + ", " + who, operation: name, answer: w.lasting(t, b, header, operation(name))})
	}
	return all
}

// expiring asks for all operations that last, each with a token that expires soon after.
func (w *attacked) expiring(t *testing.T, b attackBinding) (all []lasts) {
	t.Helper()
	for _, name := range lastingOperations {
		expires := time.Now().Add(5 * time.Second).Truncate(time.Second)
		header := bearing(token("k1", w.issuer.claims("acme", "soon", auth.RoleRequester, map[string]any{"exp": expires.Unix()})))
		all = append(all, lasts{b.name + ", expires", name, w.lasting(t, b, header, operation(name)), expires})
	}
	return all
}

// hasEnded checks that an answer has ended with its credential.
func (l lasts) hasEnded(t *testing.T, text string) {
	t.Helper()
	if completed(text) || text != aborted && !strings.Contains(text, "the credential has ended") {
		t.Errorf("%s, %s: %s", l.who, l.operation, text)
	}
}

// hasAll checks that an answer has the end of its task.
func (l lasts) hasAll(t *testing.T) {
	t.Helper()
	if text := <-l.answer; !completed(text) || !strings.Contains(text, victims) {
		t.Errorf("%s, %s, whose credential still counts: %s", l.who, l.operation, text)
	}
}

// completed reports whether an answer has a task that is completed, in either version.
func completed(text string) bool {
	return strings.Contains(text, "TASK_STATE_COMPLETED") || strings.Contains(text, `"state":"completed"`)
}

// What a credential has opened ends with it: nothing that happens later is told to whoever
// had it. The streams of others are told all.
func TestRevokedWhileStreaming(t *testing.T) {
	t.Parallel()
	for _, b := range attackBindings() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := startAttacked(t)
			var stay []lasts
			end := w.expiring(t, b)
			for _, who := range []string{"revoked-later", "changed-later", "replaced-later", "kept"} {
				if all := w.lastingAll(t, b, who, w.newKey(t, who)); who == "kept" {
					stay = append(stay, all...)
				} else {
					end = append(end, all...)
				}
			}
			if err := apikey.Revoke(w.keyFile, "revoked-later", time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := apikey.Add(w.keyFile, apikey.Key{ID: "replaced-later", Tenant: "acme", Roles: []string{auth.RoleRequester}}, true); err != nil {
				t.Fatal(err)
			}
			w.changeRole(t, "changed-later")
			w.reload(t)
			for _, one := range end {
				text := <-one.answer
				if early := time.Until(one.expires); early > 0 {
					t.Errorf("%s: the token has ended %v before its time", one.operation, early)
				}
				one.hasEnded(t, text)
			}
			w.release()
			for _, one := range stay {
				one.hasAll(t)
			}
		})
	}
}

// changeRole makes the owner of a key a viewer.
func (w *attacked) changeRole(t *testing.T, id string) {
	t.Helper()
	text, err := os.ReadFile(w.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(text), `id: "`+id+`"`)
	changed := strings.Replace(after, auth.RoleRequester, auth.RoleViewer, 1)
	if !ok || changed == after {
		t.Fatalf("no role of %s in %s", id, text)
	}
	rewrite(t, w.keyFile, before+`id: "`+id+`"`+changed)
}
