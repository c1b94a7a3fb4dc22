package metrics

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"a2a-server/store"
	"a2a-server/task/engine"
)

// Figures are the state of a store.
type Figures struct {
	engine.Backlog // counted up to [MaxFigure]

	Damaged int // tasks that were found damaged

	FailedMessages, FailedSummaries int // notifications that are not tried again

	Counted bool         // States is known
	States  store.States // of tasks

	Sized       bool // Used is known
	Used, Limit uint64
	FreeKnown   bool
	Free        uint64 // of the disk
}

// Waited returns how long the oldest pending approval has waited; 0: none waits.
func (f *Figures) Waited(now time.Time) time.Duration {
	if f.Oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(f.Oldest))
}

const (
	// MaxFigure is how many rows of an index are counted.
	MaxFigure = 100_000
	// figuresAge is how old figures may be before they are read again.
	figuresAge = 5 * time.Second
	// idle is how many times as long as reading the figures took they stay valid, so that
	// reading takes a small part of the time with any number of pending approvals.
	idle = 20
)

// Survey reads the figures of a store, at most every few seconds. It is safe for concurrent use.
type Survey struct {
	Store   store.Handle // required
	Damaged func() int   // required
	// Backlog returns the work that waits, with at most limit rows of an index; required.
	Backlog func(ctx context.Context, limit int) (engine.Backlog, error)
	// Failed returns how many notifications have failed; required.
	Failed func(context.Context) (messages, summaries int, err error)
	// Usage returns the disk usage; nil: it is not known.
	Usage func(context.Context) (used, free uint64, freeKnown bool, err error)
	Limit uint64           // limits.disk; 0: none
	Now   func() time.Time // required

	mu      sync.Mutex
	figures Figures
	valid   time.Time     // until then; zero: nothing was read
	reading chan struct{} // closed when the figures have been read; nil: nobody reads them
}

// Figures returns the figures. While another caller reads them it returns the older figures, or
// waits if there are none. The error is that of the store, or the cause if ctx ends first.
func (s *Survey) Figures(ctx context.Context) (Figures, error) {
	for {
		s.mu.Lock()
		now := s.Now()
		if now.Before(s.valid) || s.reading != nil && !s.valid.IsZero() {
			f := s.figures
			s.mu.Unlock()
			return f, nil
		}
		if s.reading == nil {
			s.reading = make(chan struct{})
			s.mu.Unlock()
			return s.read(ctx, now)
		}
		read := s.reading
		s.mu.Unlock()
		select {
		case <-read:
		case <-ctx.Done():
			return Figures{}, context.Cause(ctx)
		}
	}
}

// read reads the figures and keeps them.
func (s *Survey) read(ctx context.Context, began time.Time) (Figures, error) {
	f, err := s.look(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.reading)
	s.reading = nil
	if err != nil {
		return Figures{}, fmt.Errorf("read the figures of the store: %w", err)
	}
	now := s.Now()
	s.figures, s.valid = f, now.Add(max(figuresAge, idle*now.Sub(began)))
	return f, nil
}

// look reads the figures.
func (s *Survey) look(ctx context.Context) (f Figures, err error) {
	f.Damaged, f.Limit = s.Damaged(), s.Limit
	f.Backlog, err = s.Backlog(ctx, MaxFigure)
	errs := []error{err}
	f.FailedMessages, f.FailedSummaries, err = s.Failed(ctx)
	errs = append(errs, err)
	f.States, err = s.Store.States(ctx)
	f.Counted = err == nil
	errs = append(errs, err)
	if s.Usage != nil {
		f.Used, f.Free, f.FreeKnown, err = s.Usage(ctx)
		f.Sized = true
		errs = append(errs, err)
	}
	return f, errors.Join(errs...)
}
