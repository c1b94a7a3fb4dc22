package metrics_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/internal/golden"
	"a2a-server/internal/metrics"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/notify"
	"a2a-server/task/push"
)

// filled returns metrics of which each has a value.
func filled() *metrics.Metrics {
	m := metrics.New(metrics.Config{
		Version: "1.2.3", Ready: func() bool { return true }, Draining: func() bool { return false }, Held: func() bool { return false }, Streams: func() int { return 2 },
		Load: func() engine.Load { return engine.Load{Turns: 3, Long: 1, Waiting: 4} },
		Figures: func(context.Context) (metrics.Figures, error) {
			return metrics.Figures{
				Backlog: engine.Backlog{Pending: 5, Oldest: time.Now().Add(-time.Hour), Webhooks: 9, Notifications: 10}, Sized: true, Used: 6, Limit: 7, FreeKnown: true, Free: 8,
				Counted: true, States: store.States{task.StateInputRequired: 11},
			}, nil
		},
		Push:          func() (push.Stats, bool) { return push.Stats{Sent: 12, Refused: 13, Failed: 14}, true },
		Notifications: func() []notify.Stats { return []notify.Stats{{Route: "ops", Sent: 15, Refused: 16}} },
		LastBackup:    func() time.Time { return time.Unix(2000, 0) },
		Tool:          func(name string) bool { return name == "pay" || strings.HasPrefix(name, "t") },
		Gate:          func(name string) bool { return name == "gate:pay" },
	})
	now := time.Now()
	o := m.Observer()
	asked := audited(approval.AuditAsked, "pay", now)
	asked.Verdict.Action, asked.Verdict.Gate = approval.ActionAsk, asked.Gate
	o.Asked(asked)
	resolved := audited(approval.AuditResolved, "pay", now)
	resolved.State, resolved.Via, resolved.Asked = approval.Approved, approval.ViaAPI, now.Add(-2*time.Hour)
	o.Decided(resolved)
	o.Decided(audited(approval.AuditExtended, "pay", now)) // is no resolution
	o.Started(audited(approval.AuditStarted, "pay", now))
	ended := audited(approval.AuditFinished, "pay", now.Add(20*time.Second))
	ended.Outcome = "ok"
	o.Ended(ended)
	o.Ended(audited(approval.AuditUnknown, "pay", now))
	o.Committed(engine.ID{})
	o.Queued(engine.ID{})
	for _, why := range []string{approval.BarredFourEyes, approval.BarredHuman, approval.BarredPerson} {
		o.Refused(engine.ID{}, why)
	}
	m.Requested("SendMessage")
	m.Failed("UNAVAILABLE")
	m.Committed(3 * time.Millisecond)
	m.Reloaded(nil)
	m.Reloaded(errors.New("a mistake"))
	m.Responded("SendMessage", 200, time.Second)
	m.Responded("", 0, time.Second)
	return m
}

func audited(what approval.AuditEvent, tool string, at time.Time) *engine.Audited {
	return &engine.Audited{Audit: approval.Audit{What: what, Task: "t", Call: "c1.1", Tool: tool, Gate: "gate:" + tool, At: at}}
}

// scrape returns what is served to a scrape.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(nil).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("a scrape is answered with %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// wantLines compares lines of a scrape.
func wantLines(t *testing.T, got string, want ...string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("a scrape has no line %s, in\n%s", line, got)
		}
	}
}

var sample = regexp.MustCompile(`(?m)^(a2a_server_\w+)(?:\{(.*)\})? \S+$`)

// The list of metrics is complete; the alert rules and the dashboard are compared with it.
func TestList(t *testing.T) {
	t.Parallel()
	got := scrape(t, filled())
	if strings.Contains(got, `=""`) {
		t.Errorf("a label is empty, in\n%s", got)
	}
	labels := map[string]string{}
	for _, found := range sample.FindAllStringSubmatch(got, -1) {
		var names []string
		for _, pair := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(found[2], -1) {
			if pair[1] != "le" {
				names = append(names, pair[1])
			}
		}
		labels[strings.TrimSuffix(found[1], "_bucket")] = strings.Join(names, ",")
	}
	var list strings.Builder
	for _, found := range regexp.MustCompile(`(?m)^# HELP (a2a_server_\w+) (.*)\n# TYPE \S+ (\w+)$`).FindAllStringSubmatch(got, -1) {
		fmt.Fprintf(&list, "%s %s {%s}\n    %s\n", found[1], found[3], labels[found[1]], found[2])
	}
	golden.File(t, "testdata/metrics.txt", list.String())
}

// Events of an engine are counted and measured.
func TestObserver(t *testing.T) {
	t.Parallel()
	wantLines(
		t, scrape(t, filled()),
		`a2a_server_approvals_requested_total{gate="gate:pay"} 1`,
		`a2a_server_approvals_resolved_total{channel="api",gate="gate:pay",outcome="approved"} 1`,
		`a2a_server_approval_wait_seconds_sum{gate="gate:pay",outcome="approved"} 7200`,
		`a2a_server_approval_conflicts_total{kind="self"} 1`,
		`a2a_server_approval_conflicts_total{kind="human"} 1`,
		`a2a_server_approval_conflicts_total{kind="person"} 1`,
		`a2a_server_tool_calls_total{outcome="ok",tool="pay"} 1`,
		`a2a_server_tool_calls_total{outcome="unknown",tool="pay"} 1`,
		`a2a_server_tool_executions_unknown_total 1`,
		`a2a_server_tool_execution_duration_seconds_sum{tool="pay"} 20`,
		`a2a_server_tool_execution_duration_seconds_count{tool="pay"} 1`,
		`a2a_server_policy_reload_total{result="error"} 1`,
		`a2a_server_store_tx_duration_seconds_count{op="commit"} 1`,
		`a2a_server_policy_decisions_total{gate="gate:pay",verdict="ask"} 1`,
		`a2a_server_http_request_duration_seconds_count{code="2xx",route="SendMessage"} 1`,
		`a2a_server_http_request_duration_seconds_count{code="none",route="other"} 1`,
		`a2a_server_tasks{state="input-required"} 11`, `a2a_server_tasks{state="working"} 0`,
		`a2a_server_push_deliveries_total{result="ok"} 12`, `a2a_server_push_deliveries_total{result="error"} 13`,
		`a2a_server_push_given_up_total 14`, `a2a_server_push_pending 9`, `a2a_server_notification_queue 10`,
		`a2a_server_notifications_total{result="ok",route="ops"} 15`, `a2a_server_notifications_total{result="error",route="ops"} 16`,
		`a2a_server_store_last_backup_timestamp_seconds 2000`, `a2a_server_draining 0`,
		`a2a_server_queue_tasks 4`, `a2a_server_approvals_pending 5`, `a2a_server_store_limit_bytes 7`,
	)
}

// A caller cannot choose a label, and the number of labels has a limit.
func TestLabels(t *testing.T) {
	t.Parallel()
	m := filled()
	o := m.Observer()
	for i := range 2000 {
		o.Ended(audited(approval.AuditLate, fmt.Sprint("t", i), time.Now()))
		o.Ended(audited(approval.AuditLate, fmt.Sprint("unknown", i), time.Now()))
		o.Asked(audited(approval.AuditAsked, fmt.Sprint("evil\n", i), time.Now()))
		o.Refused(engine.ID{}, fmt.Sprint("evil", i))
	}
	got := scrape(t, m)
	if n := strings.Count(got, "a2a_server_tool_calls_total{"); n > 510 || strings.Contains(got, "unknown1") || strings.Contains(got, "evil") {
		t.Errorf("a scrape has %d series of calls, in\n%.2000s", n, got)
	}
	wantLines(t, got, `a2a_server_approvals_requested_total{gate="other"} 2000`, `a2a_server_approval_conflicts_total{kind="other"} 2000`)
}

// With a token, only its bearer reads metrics; a token that cannot be read opens nothing.
func TestToken(t *testing.T) {
	t.Parallel()
	token, failed := "right", error(nil)
	guarded := filled().Handler(func() (string, error) { return token, failed })
	open := filled().Handler(nil)
	status := func(h http.Handler, method, path, credential string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		if credential != "" {
			r.Header.Set("Authorization", credential)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		h                        http.Handler
		method, path, credential string
		token                    string
		failed                   error
		want                     int
	}{
		{h: open, want: 200},
		{h: open, path: "/", want: 404},
		{h: open, path: "/debug/pprof/heap", want: 404},
		{h: open, method: http.MethodPost, want: 405},
		{h: guarded, want: 401},
		{h: guarded, credential: "Bearer wrong", want: 401},
		{h: guarded, credential: "Bearer righ", want: 401},
		{h: guarded, credential: "Basic right", want: 401},
		{h: guarded, credential: "right", want: 401},
		{h: guarded, credential: "bearer right", want: 200},
		{h: guarded, credential: "Bearer new", token: "new", want: 200},
		{h: guarded, credential: "Bearer right", failed: errors.New("gone"), want: 503},
		{h: guarded, credential: "Bearer ", token: "-", want: 401},
	} {
		token, failed = cmp.Or(c.token, "right"), c.failed
		if got := status(c.h, cmp.Or(c.method, http.MethodGet), cmp.Or(c.path, metrics.Path), c.credential); got != c.want {
			t.Errorf("%s %s with %q is answered with %d, want %d", c.method, c.path, c.credential, got, c.want)
		}
	}
}

// BenchmarkSend measures what metrics add to a send with one call.
func BenchmarkSend(b *testing.B) {
	m := filled()
	o := m.Observer()
	started, ended := audited(approval.AuditStarted, "pay", time.Now()), audited(approval.AuditFinished, "pay", time.Now())
	started.Verdict.Action, started.Verdict.Gate = approval.ActionAllow, started.Gate
	for b.Loop() {
		m.Requested("SendMessage")
		o.Committed(engine.ID{})
		o.Started(started)
		o.Committed(engine.ID{})
		o.Ended(ended)
		o.Committed(engine.ID{})
		m.Committed(time.Millisecond)
		m.Responded("SendMessage", http.StatusOK, time.Millisecond)
	}
}

// nothing is a log that nobody reads.
var nothing = zerolog.Nop() //nolint:gochecknoglobals // it has no state
