// Package metrics counts and measures a server for its operator: metrics in the form of
// Prometheus, and the figures of its store that metrics and probes report. It does not know where
// the port is opened.
//
// No caller can choose the value of a label: a name that the configuration does not have is
// counted as "other".
package metrics

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"a2a-server/task/engine"
	"a2a-server/task/notify"
	"a2a-server/task/push"
)

const (
	// prefix is the prefix of all names.
	prefix = "a2a_server_"
	// scrapeTime is how long a scrape may take, and scrapes how many may be in progress.
	scrapeTime = 10 * time.Second
	scrapes    = 4
	// other is the label of a name that the configuration does not have.
	other = "other"
	// maxNames is how many different names a label has at most.
	maxNames = 500
	// maxRunning is how many running calls are timed at most.
	maxRunning = 1 << 16
)

// Config configures [Metrics]. All functions must be set, and are called at each scrape, Tool and
// Gate at each event. They must be quick, except for Figures.
type Config struct {
	Version  string
	Ready    func() bool
	Draining func() bool // the server stops
	Held     func() bool // the store was restored and waits for its operator
	Load     func() engine.Load
	Streams  func() int // that are open
	Figures  func(context.Context) (Figures, error)

	LastBackup func() time.Time // that was verified; zero: none is known

	Push          func() (counted push.Stats, on bool)
	Notifications func() []notify.Stats

	Tool, Gate func(name string) bool // report whether the configuration has a tool or gate
}

// Metrics are the metrics of a server. They are safe for concurrent use. On a nil *Metrics,
// methods do nothing.
type Metrics struct {
	cfg      Config
	registry *prometheus.Registry

	requests, errors, calls, verdicts, asked, decided, conflicts, reloads *prometheus.CounterVec
	unknown, changes, queued                                              prometheus.Counter
	httpTime, callTime, waitTime, commitTime                              *prometheus.HistogramVec
	reloaded                                                              prometheus.Gauge

	mu           sync.Mutex
	running      map[call]time.Time // when each running call has started
	tools, gates map[string]bool    // that are labels
}

// call identifies a call.
type call struct{ task, id string }

// New returns Metrics with a registry of their own.
func New(cfg Config) *Metrics {
	m := &Metrics{cfg: cfg, registry: prometheus.NewRegistry(), running: map[call]time.Time{}, tools: map[string]bool{}, gates: map[string]bool{}}
	in := promauto.With(prometheus.WrapRegistererWithPrefix(prefix, m.registry))
	m.requests = in.NewCounterVec(prometheus.CounterOpts{Name: "a2a_requests_total", Help: "Requests of A2A by known callers, over all bindings."}, []string{"method"})
	m.errors = in.NewCounterVec(prometheus.CounterOpts{Name: "a2a_errors_total", Help: "Errors that A2A clients got, by their reason on the wire."}, []string{"reason"})
	m.calls = in.NewCounterVec(prometheus.CounterOpts{Name: "tool_calls_total", Help: "Calls that have ended, by outcome."}, []string{"tool", "outcome"})
	m.unknown = in.NewCounter(prometheus.CounterOpts{Name: "tool_executions_unknown_total", Help: "Calls that started without a known outcome: a person decides about each."})
	m.callTime = in.NewHistogramVec(prometheus.HistogramOpts{Name: "tool_execution_duration_seconds", Help: "Time from the start of a call to its end.", Buckets: []float64{.005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800}}, []string{"tool"})
	m.httpTime = in.NewHistogramVec(prometheus.HistogramOpts{Name: "http_request_duration_seconds", Help: "Time from a request over HTTP to the beginning of its response, without the time that a message waits for its task, by operation of A2A or part of the server.", Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}}, []string{"route", "code"})
	m.verdicts = in.NewCounterVec(prometheus.CounterOpts{Name: "policy_decisions_total", Help: "Calls that the policy has allowed, denied or asked about, by gate."}, []string{"gate", "verdict"})
	m.asked = in.NewCounterVec(prometheus.CounterOpts{Name: "approvals_requested_total", Help: "Approvals that were requested, by gate."}, []string{"gate"})
	m.decided = in.NewCounterVec(prometheus.CounterOpts{Name: "approvals_resolved_total", Help: "Approvals that were resolved, by gate, state and the way of the decision."}, []string{"gate", "outcome", "channel"})
	m.waitTime = in.NewHistogramVec(prometheus.HistogramOpts{Name: "approval_wait_seconds", Help: "Time from the request of an approval to its resolution.", Buckets: []float64{1, 10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600, 168 * 3600}}, []string{"gate", "outcome"})
	m.conflicts = in.NewCounterVec(prometheus.CounterOpts{Name: "approval_conflicts_total", Help: "Decisions that did not count, by reason."}, []string{"kind"})
	m.changes = in.NewCounter(prometheus.CounterOpts{Name: "task_changes_total", Help: "Durable changes of tasks, output of running calls left out."})
	m.queued = in.NewCounter(prometheus.CounterOpts{Name: "tasks_queued_total", Help: "Tasks that had to wait for their turn."})
	m.commitTime = in.NewHistogramVec(prometheus.HistogramOpts{Name: "store_tx_duration_seconds", Help: "Time that a commit of the store took.", Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}}, []string{"op"})
	m.reloads = in.NewCounterVec(prometheus.CounterOpts{Name: "policy_reload_total", Help: "Reloads of tools, secrets and gates, by result."}, []string{"result"})
	m.reloaded = in.NewGauge(prometheus.GaugeOpts{Name: "policy_last_reload_success_timestamp_seconds", Help: "Time of the last reload that took effect, or of the start."})
	m.reloaded.SetToCurrentTime()
	m.registry.MustRegister(&gauges{m},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	in.NewGaugeVec(prometheus.GaugeOpts{Name: "build_info", Help: "Version of the program; always 1."}, []string{"version", "goversion"}).
		WithLabelValues(cfg.Version, runtime.Version()).Set(1)
	m.commitTime.WithLabelValues("commit")
	for _, result := range []string{"ok", "error"} {
		m.reloads.WithLabelValues(result)
	}
	return m
}

// Requested counts a request of a method of A2A.
func (m *Metrics) Requested(method string) {
	if m != nil {
		m.requests.WithLabelValues(method).Inc()
	}
}

// Failed counts an error of A2A by its reason, which must be of a closed set.
func (m *Metrics) Failed(reason string) {
	if m != nil {
		m.errors.WithLabelValues(reason).Inc()
	}
}

// Responded measures the time to the beginning of a response over HTTP, by its route, which must be
// of a closed set ("": other), and the class of its status (0: there was none).
func (m *Metrics) Responded(route string, status int, took time.Duration) {
	m.httpTime.WithLabelValues(cmp.Or(route, other), classes[min(max(status/100, 0), 5)]).Observe(took.Seconds())
}

// classes are the classes of a status, by its first digit.
var classes = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Committed measures a commit of the store.
func (m *Metrics) Committed(took time.Duration) {
	if m != nil {
		m.commitTime.WithLabelValues("commit").Observe(took.Seconds())
	}
}

// Reloaded counts a reload by its error.
func (m *Metrics) Reloaded(err error) {
	switch {
	case m == nil:
	case err != nil:
		m.reloads.WithLabelValues("error").Inc()
	default:
		m.reloads.WithLabelValues("ok").Inc()
		m.reloaded.SetToCurrentTime()
	}
}

// label returns name if the configuration has it and the label has room for it, else other.
func (m *Metrics) label(name string, seen map[string]bool, known func(string) bool) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !known(name):
		return other
	case seen[name]:
	case len(seen) == maxNames:
		return other
	default:
		seen[name] = true
	}
	return name
}
