package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges are the metrics that are read at each scrape.
type gauges struct{ of *Metrics }

func description(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, nil, nil)
}

var (
	ready    = description("ready", "1 if the server can serve requests, as /readyz says.")
	streams  = description("a2a_streams_open", "Streams that are open.")
	turns    = description("turns", "Tasks that run.")
	long     = description("turns_long", "Tasks that have run for more than a second.")
	queue    = description("queue_tasks", "Tasks that wait for their turn.")
	rebuilds = description("store_rebuilds_total", "Damaged indexes of the store that were rebuilt: the disk returns bad data.")
	pending  = description("approvals_pending", "Approvals that wait for a decision.")
	oldest   = description("approvals_oldest_pending_seconds", "How long the oldest pending approval has waited; 0: none waits.")
	damaged  = description("tasks_damaged", "Damaged tasks that were met since the start.")
	used     = description("store_size_bytes", "Bytes that the store uses, as limits.disk counts them.")
	limit    = description("store_limit_bytes", "limits.disk; 0: no limit.")
	free     = description("store_disk_free_bytes", "Bytes that the disk of the store has free.")
)

// Describe implements [prometheus.Collector].
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ready, streams, turns, long, queue, rebuilds, pending, oldest, damaged, used, limit, free} {
		to <- d
	}
}

// Collect implements [prometheus.Collector]. Figures that cannot be read are left out.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	c, serves, load := &g.of.cfg, 0.0, g.of.cfg.Load()
	if c.Ready() {
		serves = 1
	}
	gauge(ready, serves)
	gauge(streams, float64(c.Streams()))
	gauge(turns, float64(load.Turns))
	gauge(long, float64(load.Long))
	gauge(queue, float64(load.Waiting))
	to <- prometheus.MustNewConstMetric(rebuilds, prometheus.CounterValue, float64(c.Rebuilds()))
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	f, err := c.Figures(ctx)
	if err != nil {
		return
	}
	gauge(pending, float64(f.Pending))
	gauge(oldest, f.Waited(time.Now()).Seconds())
	gauge(damaged, float64(f.Damaged))
	if f.Sized {
		gauge(used, float64(f.Used))
		gauge(limit, float64(f.Limit))
	}
	if f.FreeKnown {
		gauge(free, float64(f.Free))
	}
}
