package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"a2a-server/client"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/testserver"
	"a2a-server/store/boltstore"
)

// holdCommits returns a hook that holds the writer of a store before its next commit but so many,
// once hold was called, until release.
func holdCommits(free int64) (hook func(string), hold, release func()) {
	var left atomic.Int64
	left.Store(1 << 40)
	released := make(chan struct{})
	return func(point string) {
		if point == boltstore.PointTaken && left.Add(-1) < 0 {
			<-released
		}
	}, func() { left.Store(free) }, sync.OnceFunc(func() { close(released) })
}

// startHeld starts a server on a restored store, whose tasks are brought up to date in free commits;
// the next commit waits for release.
func startHeld(t *testing.T, c testserver.Config, free int64) (in *instance, release func()) {
	t.Helper()
	log := newLogs(t)
	hook, hold, release := holdCommits(free)
	c.Log, c.CrashPoint = zerolog.New(zerolog.SyncWriter(log)), hook
	s, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	hold()
	stop, ended := run(t, s)
	t.Cleanup(release) // before the server is stopped
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	return &instance{url: "http://" + s.Addr().String(), server: s, log: log, ended: ended, client: client, stop: stop}, release
}

// restoredWith returns the configuration of a restored store with so many pending approvals.
func restoredWith(t *testing.T, pending int) (c testserver.Config, ids []string) {
	t.Helper()
	c = withSocket(t, me("viewer, admin, approver"))
	c.Authenticator = nil
	c.Set["grpc.listen"], c.Set["admin.listen"] = "127.0.0.1:0", "127.0.0.1:0"
	in := start(t, c)
	for n := range pending {
		ids = append(ids, in.send(t, fmt.Sprint("m", n), "/transfer_money amount=5 to=bob").ID)
	}
	in.halt(t)
	markRestored(t, c, time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC))
	return c, ids
}

func (in *instance) untilReady(t *testing.T) {
	t.Helper()
	until(t, "it is ready", func() bool {
		status, _ := in.get(t, "/readyz")
		return status == http.StatusOK
	})
}

// While the tasks of a restored store are brought up to date, probes say how many are, and every
// other request is refused, on each port, at the socket and at the handler.
func TestRestoredServerAnswersProbesAtOnce(t *testing.T) {
	t.Parallel()
	const pending = 70 // more than are brought up to date at the same time
	c, ids := restoredWith(t, pending)
	in, release := startHeld(t, c, 1)
	said := ""
	until(t, "the first tasks are up to date", func() bool {
		status, text := in.get(t, "/readyz")
		if status != http.StatusServiceUnavailable {
			t.Fatalf("/readyz says %d %s", status, text)
		}
		said = text
		return !strings.Contains(text, ": 0 of")
	})
	if !regexp.MustCompile(`^starting: [1-9]\d? of 70 tasks of the backup are up to date`).MatchString(said) {
		t.Errorf("/readyz says %q", said)
	}
	if status, text := in.get(t, "/livez"); status != http.StatusOK {
		t.Errorf("/livez says %d %s", status, text)
	}
	outer := httptest.NewServer(in.server.Handler())
	t.Cleanup(outer.Close)
	mounted := &instance{url: outer.URL, client: in.client}
	for _, at := range []*instance{in, mounted} {
		for _, path := range []string{"/", "/tasks/" + ids[0], "/.well-known/agent-card.json", "/api/v1/approvals", "/ui/", "/openapi.json", "/message:send"} {
			method, body := http.MethodGet, ""
			if path == "/message:send" {
				method, body = http.MethodPost, `{"message": {"messageId": "new", "role": "ROLE_USER", "parts": [{"text": "/echo text=a"}]}}`
			}
			a := at.fetch(t, method, path, body)
			if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(a.Body, "of 70 tasks of the backup are up to date") {
				t.Errorf("%s%s is answered with %d %s", at.url, path, a.Status, a.Body)
			}
		}
	}
	if status, text := mounted.get(t, "/readyz"); status != http.StatusServiceUnavailable || !strings.HasPrefix(text, "starting: ") {
		t.Errorf("/readyz of the handler says %d %s", status, text)
	}

	if status, body := onSocket(t, c, http.MethodGet, debugapi.ReadyPath); status != http.StatusServiceUnavailable || !strings.HasPrefix(string(body), "starting: ") {
		t.Errorf("/readyz of the socket says %d %s", status, body)
	}
	for _, path := range []string{debugapi.ResumePath, debugapi.BackupPath + "/2026-11-27T10:00:00Z"} {
		if status, body := onSocket(t, c, http.MethodPost, path); status != http.StatusServiceUnavailable || !strings.Contains(string(body), "starting: ") {
			t.Errorf("%s of the socket says %d %s", path, status, body)
		}
	}
	_, err := socketOf(c).Approvals(t.Context(), client.ApprovalQuery{})
	if e, is := errors.AsType[*client.Error](err); !is || e.Reason != client.ReasonBusy || !strings.Contains(e.Detail, "starting: ") {
		t.Errorf("Approvals() at the socket: %v", err)
	}
	_, metrics := in.scraped(t, "/metrics")
	wantSeries(t, metrics, "a2a_server_ready 0")

	conn, err := grpc.NewClient(in.server.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if h, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || h.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("the health of gRPC is %v, %v", h, err)
	}

	release()
	in.untilReady(t)
	for _, id := range ids {
		if all := in.everything(t, id); !strings.Contains(all, id+".a2-") {
			t.Fatalf("%s is not asked about again: %s", id, all)
		}
	}
	if lines := in.log.find("listening"); len(lines) != 1 {
		t.Errorf("the log says %v", lines)
	}
	in.halt(t)
}

// A server that is stopped before its tasks are up to date ends, and answers nothing but probes until
// then; the next one continues.
func TestRestoredServerStopsWhileStarting(t *testing.T) {
	t.Parallel()
	c, ids := restoredWith(t, 2)
	in, release := startHeld(t, c, 0)
	until(t, "it answers probes", func() bool {
		_, text := in.get(t, "/readyz")
		return strings.HasPrefix(text, "starting: 0 of 2 tasks")
	})
	ended := make(chan error, 1)
	go func() { ended <- in.stop() }()
	until(t, "it stops", func() bool { return len(in.log.find("shutting down")) > 0 })
	resp := httptest.NewRecorder()
	in.server.Handler().ServeHTTP(resp, httptest.NewRequest(http.MethodGet, "/tasks/"+ids[0], http.NoBody))
	if resp.Code != http.StatusServiceUnavailable {
		t.Errorf("while it stops, a task is answered with %d %s", resp.Code, resp.Body)
	}
	release()
	if err := <-ended; err != nil {
		t.Errorf("Run() = %v", err)
	}
	if lines := in.log.find("listening"); len(lines) > 0 {
		t.Errorf("the log says %v", lines)
	}
	in = start(t, c)
	in.untilReady(t)
	for _, id := range ids {
		if all := in.everything(t, id); !strings.Contains(all, id+".a2-") {
			t.Errorf("%s is not asked about again: %s", id, all)
		}
	}
}
