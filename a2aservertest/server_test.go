package a2aservertest_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type payment struct {
	Amount int `json:"amount"`
}

func bank(paid *int) tool.Toolset {
	return tool.NewToolset("bank", functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", RequireApproval: true}, func(_ tool.Context, p payment) (string, error) {
		*paid += p.Amount
		return "paid", nil
	})))
}

// counted counts the requests that are authenticated.
type counted struct {
	auth.Authenticator
	requests atomic.Int64
}

func (c *counted) Authenticate(ctx context.Context, given *auth.Credentials) (auth.Principal, error) {
	c.requests.Add(1)
	return c.Authenticator.Authenticate(ctx, given)
}

// One person sends and follows, another one of their tenant decides, and a third one of
// another tenant knows of nothing.
func TestApproveAndReject(t *testing.T) {
	t.Parallel()
	paid, callers := 0, &counted{Authenticator: a2aservertest.Callers{}}
	s := a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{bank(&paid)}, Authenticator: callers}.Must(t))
	ann := s.As(auth.Principal{Tenant: "acme", Subject: "test:ann", Roles: []string{auth.RoleRequester}, Method: "test"})
	approver := auth.Principal{Tenant: "acme", Subject: "test:bob", Roles: []string{auth.RoleApprover}, Method: "test"}
	stranger := auth.Principal{Tenant: "evil", Subject: "test:eve", Roles: []string{auth.RoleApprover}, Method: "test"}
	bob, eve := s.As(approver), s.As(stranger)
	asked := ann.Send("/pay amount=5")
	pending := bob.Pending(asked)
	if asked.Status.State != a2a.TaskStateInputRequired || len(pending) != 1 || pending[0].Requester.Subject != "test:ann" || paid != 0 {
		t.Fatalf("the task is %s and asks %+v, with %d paid", asked.Status.State, pending, paid)
	}
	yes := approval.Decision{ID: pending[0].ID, Type: approval.Approve, Digest: pending[0].Digest}
	if err := s.Approvals().Decide(t.Context(), stranger, yes); err == nil || len(eve.Pending(asked)) != 0 {
		t.Errorf("somebody of another tenant decides: %v", err)
	}
	resp, err := http.Post(s.URL+"/message:send", "application/json", strings.NewReader(`{}`)) //nolint:noctx // it is short
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a request of nobody is answered with %s", resp.Status)
	}
	before, decided := callers.requests.Load(), make(chan error, 1)
	go func() {
		for callers.requests.Load() == before {
			runtime.Gosched() // until ann subscribes
		}
		decided <- s.Approvals().Decide(t.Context(), approver, yes)
	}()
	ann.Wait(asked.ID, a2a.TaskStateCompleted)
	if err := <-decided; err != nil {
		t.Fatal(err)
	}
	if n := callers.requests.Load() - before; paid != 5 || n > 2 {
		t.Errorf("%d was paid, want 5; following took %d requests, want a subscription and a last look", paid, n)
	}
	rejected := ann.Send("/pay amount=7")
	bob.Reject(rejected, "too much")
	ann.Wait(rejected.ID, a2a.TaskStateCanceled)
	if paid != 5 {
		t.Errorf("%d was paid after a rejection, want 5", paid)
	}
}

// The text of a task does not depend on how many of the lines that a tool published came at
// once.
func TestText(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, testserver.Config{}.Must(t))
	for _, parts := range [][]string{{"one\ntwo\nthree"}, {"one\n", "two\nthree"}, {"one\n", "two\n", "three"}, {"one", "two", "three"}} {
		of := &a2a.Task{Artifacts: []*a2a.Artifact{{}, {}}}
		for i, text := range parts {
			to := of.Artifacts[min(i, 1)]
			to.Parts = append(to.Parts, a2a.NewTextPart(text))
		}
		if got := s.Text(of); got != "one\ntwo\nthree" {
			t.Errorf("%q are the text %q", parts, got)
		}
	}
}

// The clock stands still unless the test moves it, and with it what is due.
func TestAdvance(t *testing.T) {
	t.Parallel()
	paid := 0
	s := a2aservertest.New(t, testserver.Config{
		Tools: []tool.Toolset{bank(&paid)},
		Set:   map[string]string{"deadlines.expires": "1h"},
	}.Must(t))
	asked := s.Send("/pay amount=5")
	began := s.Now()
	s.Advance(59 * time.Minute)
	if got := s.Get(asked.ID); got.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("the task is %s before the deadline", got.Status.State)
	}
	s.Advance(2 * time.Minute)
	if got := s.Now().Sub(began); got != 61*time.Minute {
		t.Errorf("the clock moved by %v", got)
	}
	s.Wait(asked.ID, a2a.TaskStateCanceled)
	if paid != 0 {
		t.Errorf("%d was paid after the deadline", paid)
	}
}

// heard counts what is logged to a test.
type heard struct {
	testing.TB
	lines atomic.Int64
}

func (h *heard) Log(...any) { h.lines.Add(1) }

// What the server has to say is part of the test, unless the test has a log for it.
func TestLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log  zerolog.Logger
		says bool
	}{
		"none":    {says: true},
		"silence": {log: zerolog.Nop()},
	} {
		h := &heard{TB: t}
		a2aservertest.New(h, testserver.Config{Log: c.log}.Must(h))
		if says := h.lines.Load() > 0; says != c.says {
			t.Errorf("%s: the test is told %d lines", name, h.lines.Load())
		}
	}
}

// A call that runs, and even one that does not end when it is told to, holds up the end of
// a test for a moment only, and is no failure of it.
func TestCloseWithRunningCalls(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	defer close(left)
	for name, wait := range map[string]func(tool.Context){
		"until it is told to end": func(ctx tool.Context) { <-ctx.Done() },
		"whatever it is told":     func(tool.Context) { <-left },
	} {
		began := make(chan struct{})
		hang := functiontool.Must(functiontool.New(functiontool.Config{Name: "hang"}, func(ctx tool.Context, _ struct{}) (string, error) {
			close(began)
			wait(ctx)
			return "", ctx.Err()
		}))
		s := a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{tool.NewToolset("test", hang)}, Set: map[string]string{"limits.grace": "10m"}}.Must(t))
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			resp, err := http.Post(s.URL+"/message:send", "application/json", strings.NewReader(`{"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "/hang"}]}}`)) //nolint:noctx // it ends with the server
			if err == nil {
				_ = resp.Body.Close()
			}
		}()
		<-began
		at := time.Now()
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close() = %v", name, err)
		}
		if took := time.Since(at); took > time.Minute {
			t.Errorf("%s: Close took %v", name, took)
		}
		<-sent
	}
	http.DefaultClient.CloseIdleConnections()
}
