package signals

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// A reload that hangs, as on a file of a dead mount, keeps neither the next one from beginning nor the
// process from ending.
func TestReloadThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangups, begun, release := make(chan os.Signal), make(chan struct{}, 2), make(chan struct{})
		stop := ReloadOn(t.Context(), hangups, func() error {
			begun <- struct{}{}
			<-release
			return nil
		}, zerolog.Nop())
		hangups <- os.Interrupt
		<-begun
		hangups <- os.Interrupt
		<-begun
		start := time.Now()
		stop()
		if took := time.Since(start); took != patience {
			t.Errorf("the end took %v, want %v", took, patience)
		}
		close(release)
	})
}
