package signals

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// patience is how long a shutdown waits for a reload: a file of a dead mount may never be read.
const patience = 5 * time.Second

// ReloadOn reloads each time that a signal arrives, also during an earlier reload, until the returned function
// is called, which waits a while for them.
func ReloadOn(ctx context.Context, signals chan os.Signal, reload func() error, log zerolog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var begun sync.WaitGroup
		defer begun.Wait()
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				begun.Go(func() {
					if err := reload(); err != nil {
						log.Error().Err(err).Msg("the configuration was not reloaded and stays as it was; keys and certificates are reloaded separately")
					}
				})
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
		}
	}
}
