package e2e_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/internal/testserver"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// deaf is a tool that does not hear that it is told to end.
func deaf(t *testing.T, entered chan<- struct{}, end <-chan struct{}) tool.Toolset {
	t.Helper()
	wait, err := functiontool.New(functiontool.Config{Name: "wait", Description: "Waits."}, func(tool.Context, struct{}) (string, error) {
		entered <- struct{}{}
		<-end
		return "done", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool.NewToolset("test", wait)
}

// stalled is the answer to a client that does not read.
type stalled struct {
	*httptest.ResponseRecorder
	reads <-chan struct{}
}

func (s stalled) Write(p []byte) (int, error) {
	<-s.reads
	return len(p), nil
}

// Containers are killed 10 s after they were told to stop. Whatever a tool and a client do
// or do not do, the whole shutdown takes less.
func TestShutdownFitsIntoTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entered, end := make(chan struct{}), make(chan struct{})
		set := map[string]string{"store": "memory", "data": t.TempDir()}
		s, err := testserver.New(testserver.Config{Set: set, Tools: []tool.Toolset{deaf(t, entered, end)}, NoListen: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		go func() {
			r := httptest.NewRequest(http.MethodPost, "/message:stream", strings.NewReader(`{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "/wait"}]}}`))
			r.Header.Set("Content-Type", "application/json")
			s.Handler().ServeHTTP(stalled{httptest.NewRecorder(), end}, r)
		}()
		<-entered
		start := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
		if took, want := time.Since(start), 8*time.Second+engine.LastWords; took != want {
			t.Errorf("the shutdown took %v, want %v", took, want)
		}
		close(end)
		synctest.Wait()
	})
}
