package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"a2a-server/auth"
)

// asked asks for the tasks of a token, and returns the status.
func (w *attacked) asked(t *testing.T, header http.Header) int {
	t.Helper()
	return w.do(t, header, http.MethodGet, "/tasks", "").Status
}

// mostFetches returns how often an issuer may have been asked for its keys: twice, and once
// more for each half minute.
func mostFetches(began time.Time) int64 { return 2 + int64(time.Since(began)/(30*time.Second)) }

// With an issuer that does not answer with keys, its tokens cannot be checked, whatever it
// sends, and everybody else is served.
func TestHostileIssuers(t *testing.T) {
	t.Parallel()
	elsewhere := newTokenProvider(t)
	endless := bytes.Repeat([]byte(`{"keys":[ `), 1<<10)
	for name, serve := range map[string]http.HandlerFunc{
		"an error":   func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) },
		"a page":     func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "<html>log in") },
		"no keys":    func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"keys": "k1"}`) },
		"keys twice": func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"keys": [], "keys": []}`) },
		"depth": func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, strings.Repeat(`{"keys":[`, 50_000))
		},
		"no end": func(rw http.ResponseWriter, _ *http.Request) {
			for _, err := rw.Write(endless); err == nil; _, err = rw.Write(endless) { // until the server has enough
			}
		},
		"a redirect": func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, elsewhere.URL+"/keys", http.StatusFound)
		},
		"less than it said": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(rw, `{"keys":[]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, began := startAttackedWith(t, serve), time.Now()
			for range 3 {
				if got := w.asked(t, w.mallory()); got != http.StatusServiceUnavailable {
					t.Errorf("a token: %d, want 503", got)
				}
				if got := w.asked(t, bearing(unsigned(w.issuer.claims("acme", "victim", auth.RoleRequester)))); got != http.StatusUnauthorized {
					t.Errorf("a token that can be valid with no key: %d, want 401", got)
				}
				if got := w.asked(t, w.keyed("mallory")); got != http.StatusOK {
					t.Errorf("a key: %d, want 200", got)
				}
			}
			if n := w.issuer.fetches.Load(); n > mostFetches(began) {
				t.Errorf("the issuer was asked %d times", n)
			}
			if n := elsewhere.fetches.Load(); n != 0 {
				t.Errorf("the server has followed a redirect to another address")
			}
		})
	}
}

// While an issuer hangs, callers with its tokens wait, those with others do not, and nobody
// is lost once it answers.
func TestIssuerThatHangs(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}), make(chan struct{})
	var w *attacked
	once := sync.OnceFunc(func() { close(arrived) })
	w = startAttackedWith(t, func(rw http.ResponseWriter, r *http.Request) {
		once()
		<-answer
		w.issuer.publish("k1")
		w.issuer.current()(rw, r)
	})
	var wg sync.WaitGroup
	status := make(chan int, 20)
	for range cap(status) {
		wg.Go(func() { status <- w.asked(t, w.mallory()) })
	}
	<-arrived
	for range 3 {
		if got := w.asked(t, w.keyed("mallory")); got != http.StatusOK {
			t.Errorf("a key: %d, want 200", got)
		}
		if got := w.asked(t, bearing("x.y.z")); got != http.StatusUnauthorized {
			t.Errorf("no token: %d, want 401", got)
		}
	}
	if len(status) != 0 {
		t.Error("a token was answered while its key was not known")
	}
	close(answer)
	wg.Wait()
	for range cap(status) {
		if got := <-status; got != http.StatusOK {
			t.Errorf("a token, after the issuer has answered: %d, want 200", got)
		}
	}
	if n := w.issuer.fetches.Load(); n != 1 {
		t.Errorf("the issuer was asked %d times, want once", n)
	}
}

// A server stops in time while an issuer hangs.
func TestStopWhileIssuerHangs(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(arrived) })
	w := startAttackedWith(t, func(http.ResponseWriter, *http.Request) {
		once()
		<-answer
	})
	t.Cleanup(func() { close(answer) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// It ends with an answer, or with the connection.
		if resp, err := w.open(t.Context(), w.mallory(), http.MethodGet, "/tasks", ""); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-arrived
	w.halt(t)
	<-ended
}

// Tokens of keys that nobody has published make the server ask twice at most, are all
// refused, and stop nobody.
func TestFloodOfUnknownKeys(t *testing.T) {
	t.Parallel()
	w := startAttacked(t)
	before, began := w.issuer.fetches.Load(), time.Now()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 5 {
				forged := bearing(token(fmt.Sprintf("unknown-%d-%d", n, i), w.issuer.claims("acme", "victim", auth.RoleRequester)))
				if got := w.asked(t, forged); got != http.StatusUnauthorized {
					t.Errorf("a token of an unknown key: %d, want 401", got)
				}
			}
		})
	}
	for range 10 {
		for name, header := range map[string]http.Header{"key": w.keyed("mallory"), "token": w.mallory()} {
			if got := w.asked(t, header); got != http.StatusOK {
				t.Errorf("a %s during the flood: %d, want 200", name, got)
			}
		}
	}
	wg.Wait()
	if n := w.issuer.fetches.Load() - before; n > mostFetches(began) {
		t.Errorf("the issuer was asked %d times", n)
	}
}

// A key that its issuer no longer publishes signs nothing more, once the server has asked.
func TestWithdrawnKey(t *testing.T) {
	t.Parallel()
	w := startAttacked(t) // which has asked for the keys
	claims := func() map[string]any { return w.issuer.claims("acme", "mallory", auth.RoleRequester) }
	w.issuer.publish("k2")
	if got := w.asked(t, bearing(token("k2", claims()))); got != http.StatusOK {
		t.Fatalf("a token of the new key: %d, want 200", got)
	}
	if got := w.asked(t, bearing(token("k1", claims()))); got != http.StatusUnauthorized {
		t.Errorf("a token of the withdrawn key: %d, want 401", got)
	}
	if got := w.asked(t, bearing(token("k2", claims(), map[string]any{"kid": "k1"}))); got != http.StatusUnauthorized {
		t.Errorf("a token of the new key under the old name: %d, want 401", got)
	}
}
