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
		if err != nil {
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
}

// lastingAll asks for all operations that last.
func (w *attacked) lastingAll(t *testing.T, b attackBinding, who string, header http.Header) (all []lasts) {
	t.Helper()
	for _, name := range []string{"SendMessage", "SendStreamingMessage", "SubscribeToTask"} {
		all = append(all, lasts{b.name + ", " + who, name, w.lasting(t, b, header, operation(name))})
	}
	return all
}

// hasEnded checks that an answer has ended with its credential.
func (l lasts) hasEnded(t *testing.T, text string) {
	t.Helper()
	if completed(text) || !strings.Contains(text, "the credential has ended") {
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
			var end, stay []lasts
			expires := time.Now().Add(10 * time.Second).Truncate(time.Second)
			soon := bearing(token("k1", w.issuer.claims("acme", "soon", auth.RoleRequester, map[string]any{"exp": expires.Unix()})))
			// What expires is the first, so that it begins before.
			for _, who := range []string{"expires", "revoked-later", "changed-later", "replaced-later", "kept"} {
				header := soon
				if who != "expires" {
					header = w.newKey(t, who)
				}
				if all := w.lastingAll(t, b, who, header); who == "kept" {
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
				if early := time.Until(expires); strings.HasSuffix(one.who, "expires") && early > 0 {
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
