package call

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"a2a-server/task/internal/output"
	"a2a-server/tool"
)

// A report of progress is an event among the chunks of its run. It costs no commit of its
// own while there are chunks, names the fence only, and so never conflicts.
const (
	// minReportGap is the least time between two reports of a run: four a second.
	minReportGap = 250 * time.Millisecond
	// reportShare: a report comes at the earliest after this part of the time that the run has
	// reported for. So four a second are published in the first minute, a report each 2.5 s
	// after ten minutes, and some 1,200 in the first hour, however often the tool reports.
	reportShare = 240
	// progressShare is the part of Limits.Output that the reports of a run may take.
	progressShare = 16
)

// reports are the reports of progress of a run. run.mu guards them.
type reports struct {
	newest tool.Progress // the tool's latest report
	unset  func() bool
	held   bool          // newest, or job, has not been published
	closed bool          // the timer that unset stops is set: no report is published until it fires
	gap    time.Duration // after the last published report
	age    time.Duration // sum of the gaps
	bytes  int64         // published
	job    string        // id of the job that the call has started; "": none
}

// Report implements [tool.Reporter].
func (x *toolContext) Report(_ context.Context, p tool.Progress) { x.run.report(p) }

// report publishes p now, or keeps it until a report may be published again, unless a newer
// report comes. It never waits. NaN is ignored.
func (r *Run) report(p tool.Progress) {
	for _, n := range []float64{p.Done, p.Total} {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return
		}
	}
	r.mu.Lock()
	if r.cut != nil {
		r.mu.Unlock()
		return
	}
	r.reports.newest, r.reports.held = p, true
	now := !r.reports.closed
	r.reports.closed = true
	r.mu.Unlock()
	if now {
		r.publishReport()
	}
}

// publishReport publishes the newest report, if any, and sets the timer for the next.
// reports.closed must be set.
func (r *Run) publishReport() {
	r.mu.Lock()
	s := &r.reports
	if r.cut != nil || !s.held {
		s.closed = false
		r.mu.Unlock()
		return
	}
	p, job := s.newest, s.job
	s.held = false
	r.mu.Unlock()
	k, err := r.runs.Env.Rules().Progress(r.publish, r.runs.Env.Now(), r.entry.Call, r.entry.Name, job, p) // runs code of the application
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut != nil {
		return
	}
	s.gap = max(minReportGap, s.age/reportShare)
	s.age += s.gap
	s.unset = r.runs.Env.After(s.gap, r.publishReport)
	n := int64(len(k.Event.Data))
	limit := int64(r.runs.Env.Limits.Output)
	switch {
	case err != nil: // reported
	case r.bytes > r.runs.Env.Limits.Window: // retried after the gap
		s.held = true
	case s.bytes+n > limit/progressShare || r.output+n > limit || r.tooMuch != nil:
	case r.hand(k) == nil:
		s.bytes += n
		r.output += n
	}
}

// reportJob publishes the id of the job that the call has started, with the tool's latest
// report.
func (r *Run) reportJob(state json.RawMessage) {
	r.mu.Lock()
	r.stopReports()
	r.reports.job = output.JobID(state)
	r.reports.held, r.reports.closed = true, true
	r.mu.Unlock()
	r.publishReport()
}

// stopReports stops the timer for the next report. r.mu must be held.
func (r *Run) stopReports() {
	if r.reports.unset != nil {
		r.reports.unset()
	}
}
