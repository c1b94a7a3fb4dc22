//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// approvalsAsked are more approvals than a route announces in an hour: 20, and a summary of 5.
const approvalsAsked, announced = 25, 20

// told is what outlives the processes of a case: a receiver of messages about approvals.
type told struct {
	*testing.T
	dir  string
	args []string

	mu  sync.Mutex
	got map[string]message // by webhook-id
}

// message is a webhook about approvals.
type message struct {
	Type string
	Data struct {
		Approval, State, Task string
		Count                 int
	}
}

// crashNotify plays a case of a point of task/notify, and reports whether the server died there:
// while it sends messages or, late, when their hour is over. Every message arrives, with one id,
// and the call that is approved runs once.
func crashNotify(t *testing.T, c crashCase) bool {
	w := newTold(t)
	at := fmt.Sprintf("%s:%d", c.point, c.n)
	if !c.late && !w.live(at, w.ask).killedBy(syscall.SIGKILL) {
		return false
	}
	w.live("", func(ctx context.Context, c *client) {
		w.ask(ctx, c)
		w.await(ctx, "approval.asked", announced)
	})
	w.hourPasses()
	if c.late && !w.live(at, func(context.Context, *client) {}).killedBy(syscall.SIGKILL) {
		return false
	}
	w.live("", func(ctx context.Context, c *client) {
		w.await(ctx, "summary", 1)
		one := w.all("approval.asked")[0].Data
		s := &scene{id: one.Task, tried: map[string]string{}, told: map[string]bool{}}
		if err := s.decide(ctx, c, question{ID: one.Approval}, "approve"); err != nil {
			t.Error(err)
		}
		w.await(ctx, "approval.resolved", 1)
	})
	about := map[string]bool{}
	asked, sum, ended := w.all("approval.asked"), w.all("summary"), w.all("approval.resolved")
	for _, m := range asked {
		about[m.Data.Approval] = true
	}
	if len(asked) != announced || len(about) != announced || len(sum) != 1 || sum[0].Data.Count != approvalsAsked-announced || len(ended) != 1 || ended[0].Data.State != "approved" {
		t.Errorf("%d approvals were announced under %d ids, the summaries are %+v, the ends %+v", len(about), len(asked), sum, ended)
	}
	if runs := ledgerOf(t, w.dir)["notify"]; runs != 1 {
		t.Errorf("the approved call has run %d times", runs)
	}
	return true
}

func newTold(t *testing.T) *told {
	w := &told{T: t, dir: t.TempDir(), got: map[string]message{}}
	receiver := httptest.NewServer(w)
	t.Cleanup(receiver.Close)
	file, secret := filepath.Join(w.dir, "config.yaml"), filepath.Join(w.dir, "secret")
	config := fmt.Sprintf("notify:\n  - {name: ops, kind: webhook, url: %q, secret: {file: %q}, networks: [127.0.0.0/8], events: [asked, resolved], all: true}\n", receiver.URL, secret)
	for name, text := range map[string]string{file: config, secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.args = []string{"--data", w.dir, "--config", file}
	return w
}

func (w *told) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var m message
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		rw.WriteHeader(http.StatusBadRequest) // it was killed while it sent
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id := r.Header.Get("webhook-id")
	if before, again := w.got[id]; again && before != m {
		w.Errorf("message %s was %+v, and is %+v", id, before, m)
	}
	w.got[id] = m
}

// all returns the messages of a type.
func (w *told) all(kind string) (all []message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.got {
		if m.Type == kind {
			all = append(all, m)
		}
	}
	return all
}

// await waits for n messages of a type.
func (w *told) await(ctx context.Context, kind string, n int) {
	w.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for len(w.all(kind)) < n {
		select {
		case <-look.C:
		case <-ctx.Done():
			w.Fatalf("%d messages %s have arrived, want %d", len(w.all(kind)), kind, n)
		}
	}
}

// ask sends the messages whose calls need approval, the same in each process, until it is dead.
func (w *told) ask(ctx context.Context, c *client) {
	for n := range approvalsAsked {
		params := (&scene{name: fmt.Sprint("notify ", n), calls: []object{transfer("notify")}}).message()
		params["configuration"] = object{"returnImmediately": true}
		if err := c.call(ctx, "SendMessage", params, &struct{}{}); err != nil {
			return
		}
	}
}

// live runs a process while do does something with it: one that is to die at a point until it is
// dead, another until it ends as told.
func (w *told) live(crashAt string, do func(context.Context, *client)) *process {
	w.Helper()
	p := startProcess(w.T, crashAt, w.args...)
	defer p.end(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if p.url != "" {
		do(ctx, &client{url: p.url, http: &http.Client{Transport: transport}})
	}
	if crashAt != "" {
		select {
		case <-p.exited:
		case <-ctx.Done():
		}
	} else if p.end(syscall.SIGTERM); p.err != nil {
		w.Fatalf("the server ended with %v\n%s", p.err, p.said())
	}
	return p
}

// hourPasses moves the hour of the route into the past, so that it is over now.
func (w *told) hourPasses() {
	w.Helper()
	db, err := boltstore.Open(filepath.Join(w.dir, "tasks.db"))
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	h, err := db.Handle()
	if err != nil {
		w.Fatal(err)
	}
	scope, row := store.Owner("", "\x00task/notify"), store.RowChange{Kind: "notify.route", Key: []byte("ops"), IfRev: store.Any}
	page, err := h.Rows(w.Context(), scope, store.RowQuery{Kind: row.Kind, Key: row.Key})
	if err != nil || len(page.Rows) != 1 {
		w.Fatalf("the state of the route: %+v, %v", page, err)
	}
	over := fmt.Sprintf(`"start":%d,`, store.MillisOf(time.Now().Add(-time.Hour)))
	row.Value = regexp.MustCompile(`"start":\d+,`).ReplaceAll(page.Rows[0].Value, []byte(over))
	if _, err := h.Append(w.Context(), &store.Batch{Scope: scope, Rows: []store.RowChange{row}}).Wait(); err != nil {
		w.Fatal(err)
	}
	_ = h.Close()
}
