package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// step is a part of a shutdown.
type step struct {
	name  string
	limit time.Duration
	do    func(ctx context.Context) error
}

// steps does one step after the other, whatever becomes of those before: each for no
// longer than its limit. One that takes longer is left behind; it ends with the
// process.
func (a *App) steps(ctx context.Context, all []step) error {
	var errs []error
	for _, s := range all {
		start := time.Now()
		err := s.run(ctx)
		took := time.Since(start)
		if err != nil {
			errs = append(errs, fmt.Errorf("shut down: %s: %w", s.name, err))
			a.log.Error().Err(err).Str("step", s.name).Dur("took_ms", took).Msg("shutdown step failed")
			continue
		}
		a.log.Info().Str("step", s.name).Dur("took_ms", took).Msg("shutdown step done")
	}
	return errors.Join(errs...)
}

func (s step) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.do(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("it took longer than %v", s.limit)
	}
}
