package metrics

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"a2a-server/store"
	"a2a-server/task"
)

// gauges are the metrics that are read at each scrape.
type gauges struct{ of *Metrics }

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

var (
	ready    = description("ready", "1 if the server can serve requests, as /readyz says.")
	draining = description("draining", "1 if the server is shutting down.")
	streams  = description("a2a_streams_open", "Streams that are open.")
	turns    = description("turns", "Tasks that run.")
	long     = description("turns_long", "Tasks that have run for more than a second.")
	queue    = description("queue_tasks", "Tasks that wait for their turn.")
	pending  = description("approvals_pending", "Approvals that wait for a decision, at most 100000.")
	oldest   = description("approvals_oldest_pending_seconds", "How long the oldest pending approval has waited; 0: none waits.")
	damaged  = description("tasks_damaged", "Damaged tasks that were met since the start.")
	tasks    = description("tasks", "Tasks in the store, by state.", "state")
	pushes   = description("push_deliveries_total", "Requests to webhooks, by result.", "result")
	givenUp  = description("push_given_up_total", "Webhooks that were given up: their clients have to set them again.")
	webhooks = description("push_pending", "Webhooks that have notifications to send.")
	messages = description("notifications_total", "Attempts to send notifications, by route and result.", "route", "result")
	waiting  = description("notification_queue", "Notifications that wait to be sent.")
	failed   = description("notifications_failed", "Notifications that were given up, and are listed as failed.")
	used     = description("store_size_bytes", "Bytes that the store uses, as limits.disk counts them.")
	limit    = description("store_limit_bytes", "limits.disk; 0: no limit.")
	backup   = description("store_last_backup_timestamp_seconds", "Time of the newest verified backup; there is none before the first.")
	held     = description("store_waits_for_operator", "1 if the store was restored from a backup and waits for a2a-server store resume.")
	free     = description("store_disk_free_bytes", "Bytes that the disk of the store has free.")
)

// Describe implements [prometheus.Collector]: without any, the metrics are compared at each scrape.
func (g *gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector]. Figures that cannot be read are left out.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	s, c := scrape{to}, &g.of.cfg
	load := c.Load()
	s.gauge(ready, truth(c.Ready()))
	s.gauge(draining, truth(c.Draining()))
	s.gauge(held, truth(c.Held()))
	s.gauge(streams, float64(c.Streams()))
	s.gauge(turns, float64(load.Turns))
	s.gauge(long, float64(load.Long))
	s.gauge(queue, float64(load.Waiting))
	if counted, on := c.Push(); on {
		s.counter(pushes, counted.Sent, "ok")
		s.counter(pushes, counted.Refused, "error")
		s.counter(givenUp, counted.Failed)
	}
	for _, r := range c.Notifications() {
		s.counter(messages, r.Sent, r.Route, "ok")
		s.counter(messages, r.Refused, r.Route, "error")
	}
	if at := c.LastBackup(); !at.IsZero() {
		s.gauge(backup, float64(at.UnixMilli())/1000)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	if f, err := c.Figures(ctx); err == nil {
		s.figures(&f)
	}
}

// scrape sends metrics to a scrape.
type scrape struct{ to chan<- prometheus.Metric }

func (s scrape) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s scrape) counter(d *prometheus.Desc, v uint64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (s scrape) figures(f *Figures) {
	s.gauge(pending, float64(f.Pending))
	s.gauge(oldest, f.Waited(time.Now()).Seconds())
	s.gauge(damaged, float64(f.Damaged))
	s.gauge(webhooks, float64(f.Webhooks))
	s.gauge(waiting, float64(f.Notifications))
	s.gauge(failed, float64(f.FailedMessages+f.FailedSummaries))
	if f.Counted {
		for state := task.StateSubmitted; state <= store.MaxState; state++ {
			s.gauge(tasks, float64(f.States[state]), stateLabel(state))
		}
	}
	if f.Sized {
		s.gauge(used, float64(f.Used))
		s.gauge(limit, float64(f.Limit))
	}
	if f.FreeKnown {
		s.gauge(free, float64(f.Free))
	}
}

// stateLabel returns the name of a state as commands have it, such as input-required.
func stateLabel(s store.State) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(task.StateName(s)), "TASK_STATE_")), "_", "-")
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
