package signals

import (
	"context"
	"os"
	"os/signal"

	"github.com/rs/zerolog"
)

// ReloadOn reloads each time that a signal arrives, until the returned function is called,
// which waits for a reload that has begun.
func ReloadOn(ctx context.Context, signals chan os.Signal, reload func() error, log zerolog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				if err := reload(); err != nil {
					log.Error().Err(err).Msg("the configuration was not reloaded and stays as it was; keys and certificates are reloaded separately")
				}
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		cancel()
		<-ended
	}
}
