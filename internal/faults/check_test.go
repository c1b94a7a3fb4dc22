//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// finish carries out what the load has left, which shows that the server serves again
// without anybody's doing.
func (w *world) finish() {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soonBound)
	defer cancel()
	left := make(chan *errand)
	var workers sync.WaitGroup
	for range callers {
		workers.Go(func() {
			for e := range left {
				w.finishOne(ctx, e)
			}
		})
	}
	for _, e := range w.all() {
		left <- e
	}
	close(left)
	workers.Wait()
}

func (w *world) finishOne(ctx context.Context, e *errand) {
	again := time.NewTicker(pace)
	defer again.Stop()
	for {
		err := e.run(ctx, w.to())
		if err == nil {
			return
		}
		if !unsaid(err) || ctx.Err() != nil {
			id, _, _ := e.shown()
			w.Errorf("%s %s, task %q, does not come to its end: %v", e.kind, e.name, id, err)
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// verify looks at everything when all errands have ended: nothing that anybody was told
// is lost, nothing is doubled, and nothing is left over.
func (w *world) verify() {
	w.Helper()
	if w.Failed() {
		return // what is missing has been said
	}
	ctx, cancel := context.WithTimeout(context.Background(), soonBound)
	defer cancel()
	for _, e := range w.all() {
		if err := w.compare(ctx, e); err != nil {
			w.Error(err)
		} else {
			w.checkEnd(e)
			w.checkFrames(ctx, e)
		}
		if w.Failed() {
			return // one says enough
		}
	}
	w.checkLedger()
	var list struct {
		TotalSize int
		Tasks     []task
	}
	if err := w.to().call(ctx, "ListTasks", object{"pageSize": 1}, &list); err != nil {
		w.Error(err)
	}
	if n := len(w.all()); list.TotalSize != n {
		w.Errorf("there are %d tasks of %d messages", list.TotalSize, n)
	}
}

// checkEnd compares how an errand ended with how it has to.
func (w *world) checkEnd(e *errand) {
	w.Helper()
	_, state, text := e.shown()
	switch e.kind {
	case echo, stream:
		want := e.want()
		if e.unknown { // the process died during the call more often than it is begun again
			want = answered
		}
		if state != completed || !strings.Contains(text, want) {
			w.Errorf("%s %s ended as %s with %.60q, want %.60q", e.kind, e.name, state, text, want)
		}
	case approve:
		if state != completed && !e.unknown && (state != failed || !w.toolsFail) && (state != canceled || !w.mayExpire(e)) {
			w.Errorf("%s, which was approved, ended as %s", e.name, state)
		}
	case reject, lapse:
		if state != canceled {
			w.Errorf("%s %s ended as %s", e.kind, e.name, state)
		}
	}
}

// checkFrames compares what a stream has shown with what the log says now.
func (w *world) checkFrames(ctx context.Context, e *errand) {
	w.Helper()
	if len(e.frames) < 2 {
		return
	}
	id, _, _ := e.shown()
	var log []frame
	err := w.to().stream(ctx, "SubscribeToTask", object{"id": id}, e.frames[0].id, func(f frame, _ *event) error {
		log = append(log, f)
		return nil
	})
	if err != nil {
		w.Errorf("%s: replay of its events: %v", e.name, err)
		return
	}
	for i, f := range e.frames[1:] {
		if i >= len(log) || log[i] != f {
			w.Errorf("%s: event %d was shown as %s %s, and the log has %d events that say something else", e.name, i+1, f.id, f.data, len(log))
			return
		}
	}
}

// checkLedger compares what the tool did with what was allowed.
func (w *world) checkLedger() {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.data, "ledger.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Fatal(err)
	}
	runs, calls := map[string]int{}, map[string]int{}
	for line := range bytes.Lines(text) {
		var l struct {
			Task, Call string
			Args       struct{ To string }
		}
		if err := json.Unmarshal(line, &l); err != nil {
			w.Errorf("the ledger has a line %q: %v", line, err)
			continue
		}
		runs[l.Args.To]++
		if calls[l.Task+"/"+l.Call]++; calls[l.Task+"/"+l.Call] > 1 {
			w.Errorf("call %s of task %s has run twice", l.Call, l.Task)
		}
	}
	for _, e := range w.all() {
		n := runs[e.name]
		_, state, _ := e.shown()
		switch {
		case e.kind != approve && n > 0:
			w.Errorf("%s %s was transferred money %d times", e.kind, e.name, n)
		case n > 0 && state == canceled:
			w.Errorf("%s has ended without an approval, and money was transferred", e.name)
		case n > 1:
			w.Errorf("%s was transferred money %d times", e.name, n)
		case n == 0 && e.kind == approve && state == completed && !e.unknown:
			w.Errorf("%s was approved and has completed, and no money was transferred", e.name)
		}
		delete(runs, e.name)
	}
	for to := range runs {
		w.Errorf("money was transferred to %s, for whom nobody asked", to)
	}
}

// settle ends a test: what is left is carried out, everything is looked at, and once more
// in the next process.
func (w *world) settle(l *load) {
	w.Helper()
	l.stop()
	w.finish()
	w.verify()
	w.live.stop()
	w.live.sound()
	w.again()
}

// again starts the next process and looks at everything there.
func (w *world) again() {
	w.Helper()
	w.start()
	w.finish()
	w.verify()
	w.live.stop()
	w.live.sound()
}
