package a2aserver

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

// steps runs the steps in order, even if an earlier step failed, each for at most its limit. A
// step that takes longer is abandoned; it ends with the process.
func (s *Server) steps(ctx context.Context, all []step) error {
	var errs []error
	for _, step := range all {
		start := time.Now()
		err := step.run(ctx)
		took := time.Since(start)
		if err != nil {
			errs = append(errs, fmt.Errorf("shut down: %s: %w", step.name, err))
			s.log.Error().Err(err).Str("step", step.name).Dur("took_ms", took).Msg("shutdown step failed")
			continue
		}
		s.log.Info().Str("step", step.name).Dur("took_ms", took).Msg("shutdown step done")
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
