package alerts

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// at is when the rules are evaluated: after the samples of load.
const at = 30 * time.Minute

// expiring is the series of resolved approvals, approved and expired ones by minute.
func expiring(approved, expired string) string {
	return `a2a_server_approvals_resolved_total{outcome="approved",gate="tool",channel="api"} ` + approved + `
		a2a_server_approvals_resolved_total{outcome="expired",gate="tool",channel="system"} ` + expired
}

// refusing is the series of requests and of the errors with a reason, by minute.
func refusing(reason, errors string) string {
	return `a2a_server_a2a_requests_total{method="SendMessage"} 0+100x40
		a2a_server_a2a_errors_total{reason="` + reason + `"} ` + errors
}

// commits is the series of 100 commits a minute, of which some took at most half a second.
func commits(quick string) string {
	return `a2a_server_store_tx_duration_seconds_bucket{op="commit",le="0.5"} ` + quick + `
		a2a_server_store_tx_duration_seconds_bucket{op="commit",le="1"} 0+100x40
		a2a_server_store_tx_duration_seconds_bucket{op="commit",le="+Inf"} 0+100x40`
}

// cases has, for each rule, samples by minute with which it fires, and samples with which it does
// not.
var cases = map[string]struct{ fires, quiet []string }{ //nolint:gochecknoglobals // a table
	"A2AServerDown":     {[]string{`up{job="a2a-server"} 0x40`}, []string{`up{job="a2a-server"} 1x40`, `up{job="other"} 0x40`}},
	"A2AServerNotReady": {[]string{`a2a_server_ready 0x40`}, []string{`a2a_server_ready 1x40`}},
	"A2AApprovalWaitsLong": {
		[]string{`a2a_server_approvals_oldest_pending_seconds 15000+60x40`},
		[]string{`a2a_server_approvals_oldest_pending_seconds 0x40`, `a2a_server_approvals_oldest_pending_seconds 7200+60x40`},
	},
	"A2AApprovalsExpire": {
		[]string{expiring("0+2x40", "0+1x40")},
		[]string{expiring("0+9x40", "0+1x40"), expiring("5x40", "5x40")}, // of long ago
	},
	"A2AOutcomeUnknown": {
		[]string{`a2a_server_tool_executions_unknown_total 0x25 1x15`, `a2a_server_tool_executions_unknown_total 3x25 1x15`, // after a restart
			"a2a_server_tool_executions_unknown_total 1x18 _x2 1x20\n  process_start_time_seconds 0x18 _x2 1200x20"}, // after a second one
		[]string{`a2a_server_tool_executions_unknown_total 0x40`, `a2a_server_tool_executions_unknown_total 3x40`},
	},
	"A2ADecisionsRefused": {
		[]string{`a2a_server_approval_conflicts_total{kind="role"} 0+2x40`},
		[]string{`a2a_server_approval_conflicts_total{kind="already"} 0+1x40`},
	},
	"A2ARequestsRefused": {
		[]string{refusing("UNAVAILABLE", "0+10x40"), refusing("RATE_LIMIT_EXCEEDED", "0+10x40")},
		[]string{refusing("UNAVAILABLE", "0+1x40"), refusing("TASK_NOT_FOUND", "0+10x40")},
	},
	"A2AQueueLong":   {[]string{`a2a_server_queue_tasks 500x40`}, []string{`a2a_server_queue_tasks 3x40`}},
	"A2ACommitsSlow": {[]string{commits("0+90x40")}, []string{commits("0+100x40")}},
	"A2ADiskNearlyFull": {
		[]string{"a2a_server_store_size_bytes 900x40\na2a_server_store_limit_bytes 1000x40", `a2a_server_store_disk_free_bytes 1000000x40`},
		[]string{"a2a_server_store_size_bytes 900x40\na2a_server_store_limit_bytes 0x40\na2a_server_store_disk_free_bytes 1e12x40"},
	},
	"A2ADataDamaged": {
		[]string{`a2a_server_tasks_damaged 1x40`}, []string{`a2a_server_tasks_damaged 0x40`},
	},
	"A2ANotificationsFail": {[]string{`a2a_server_notifications_failed 2x20 3x20`}, []string{`a2a_server_notifications_failed 2x40`}},
	"A2AWebhookGivenUp":    {[]string{`a2a_server_push_given_up_total 0x25 1x15`}, []string{`a2a_server_push_given_up_total 3x40`}},
	"A2ABackupOld": { // it is half past midnight on 1970-01-01
		[]string{`a2a_server_store_last_backup_timestamp_seconds -172000x40`},
		[]string{`a2a_server_store_last_backup_timestamp_seconds -170000x40`, `a2a_server_ready 1x40`}, // no backup was made
	},
	"A2ARestoredStoreWaits": {
		[]string{`a2a_server_store_waits_for_operator 1x40`},
		[]string{`a2a_server_store_waits_for_operator 0x40`},
	},
	"A2AReloadFailed": {
		[]string{`a2a_server_policy_reload_total{result="error"} 0x25 1x15`},
		[]string{`a2a_server_policy_reload_total{result="ok"} 0+1x40`, `a2a_server_policy_reload_total{result="error"} 4x40`},
	},
}

// rules returns the rules by name.
func rules(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile("../alerts.yaml", false /* ignoreUnknownFields */, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r
		}
	}
	return all
}

// Every rule is valid, says what to do next, fires when it should, and otherwise does not.
func TestRules(t *testing.T) {
	t.Parallel()
	all := rules(t)
	if got, want := slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(cases)); !slices.Equal(got, want) {
		t.Errorf("the rules are %v, and the cases %v", got, want)
	}
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r.Annotations["summary"] == "" || r.Annotations["next"] == "" || r.Labels["severity"] == "" {
				t.Error("summary, next or severity is missing")
			}
			for _, samples := range cases[name].fires {
				if fires(t, r.Expr, samples) == 0 {
					t.Errorf("it does not fire with\n%s", samples)
				}
			}
			for _, samples := range cases[name].quiet {
				if n := fires(t, r.Expr, samples); n > 0 {
					t.Errorf("it fires %d times with\n%s", n, samples)
				}
			}
		})
	}
}

// fires returns how many alerts an expression gives after samples were loaded.
func fires(t *testing.T, expr, samples string) int {
	t.Helper()
	load := "load 1m\n"
	for line := range strings.Lines(samples) {
		load += "  " + strings.TrimSpace(line) + "\n"
	}
	stored := promqltest.LoadedStorage(t, load)
	t.Cleanup(func() { _ = stored.Close() })
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	query, err := engine.NewInstantQuery(t.Context(), stored, nil, expr, time.Unix(0, 0).Add(at))
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatal(err)
	}
	return len(vector)
}

// metric is a metric as the server describes it.
type metric struct{ kind, labels string }

// metrics returns what the server serves, by name.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile("../../internal/metrics/testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]metric{}
	for _, found := range regexp.MustCompile(`(?m)^(a2a_server_\w+) (\w+) \{(.*)\}$`).FindAllStringSubmatch(string(text), -1) {
		all[found[1]] = metric{found[2], found[3]}
	}
	return all
}

// check returns what an expression names that the server does not serve.
func check(t *testing.T, expr string, all map[string]metric) (wrong []string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			if n.Name == "up" {
				return nil
			}
			m, there := all[n.Name]
			if base, is := strings.CutSuffix(n.Name, "_bucket"); is && !there {
				if m, there = all[base]; m.kind != "histogram" {
					there = false
				}
			}
			if !there {
				wrong = append(wrong, n.Name)
			}
			for _, l := range n.LabelMatchers {
				if !slices.Contains(append(strings.Split(m.labels, ","), "__name__", "job", "instance"), l.Name) {
					wrong = append(wrong, n.Name+"{"+l.Name+"}")
				}
			}
		case *parser.AggregateExpr:
			within := labelsOf(n, all)
			for _, label := range n.Grouping {
				if !slices.Contains(within, label) {
					wrong = append(wrong, "by ("+label+")")
				}
			}
		case *parser.Call:
			for _, a := range n.Args {
				if m, is := a.(*parser.MatrixSelector); is && strings.HasSuffix(m.VectorSelector.String(), "_seconds") {
					wrong = append(wrong, "the rate of a gauge: "+m.String())
				}
			}
		}
		return nil
	})
	return wrong
}

// labelsOf returns the labels of the metrics in an expression.
func labelsOf(expr parser.Node, all map[string]metric) []string {
	labels := []string{"job", "instance", "le"}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, is := n.(*parser.VectorSelector); is {
			labels = append(labels, strings.Split(all[strings.TrimSuffix(s.Name, "_bucket")].labels, ",")...)
		}
		return nil
	})
	return labels
}

// The rules and the dashboard name only metrics and labels that the server serves.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	all := metrics(t)
	if len(all) < 20 {
		t.Fatalf("the server serves only %d metrics", len(all))
	}
	all["process_start_time_seconds"] = metric{} // of the library
	for name, r := range rules(t) {
		if wrong := check(t, r.Expr, all); len(wrong) > 0 {
			t.Errorf("%s names %q", name, wrong)
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile("../grafana.json")
	if err == nil {
		err = json.Unmarshal(text, &dashboard)
	}
	if err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("the dashboard has %d panels, %v", len(dashboard.Panels), err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*")
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("the panel %q has no query", p.Title)
		}
		for _, target := range p.Targets {
			if wrong := check(t, variables.Replace(target.Expr), all); len(wrong) > 0 {
				t.Errorf("the panel %q names %q in %s", p.Title, wrong, target.Expr)
			}
		}
	}
	if wrong := check(t, `rate(a2a_server_nothing_total{tool="x"}[5m])`, all); len(wrong) == 0 {
		t.Error("a metric that does not exist is found")
	}
	if wrong := check(t, `sum by (rule) (a2a_server_approvals_requested_total)`, all); len(wrong) == 0 {
		t.Error("a label that does not exist is grouped by")
	}
}
