//go:build unix

package kinds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"a2a-server/internal/testserver"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

// The environment variables that make this test binary another process: the server that
// is killed, or an MCP server.
const (
	serverEnv = "KINDS_SERVER"
	mcpEnv    = "KINDS_MCP"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(serverEnv) != "":
		os.Exit(serve(os.Getenv(serverEnv)))
	case os.Getenv(mcpEnv) != "":
		os.Exit(serveMCP(os.Getenv(mcpEnv)))
	}
	goleak.VerifyTestMain(m)
}

// serverConfig is what a server process is told.
type serverConfig struct {
	Dir    string // for its data and the ledger
	Remote string // base URL of what is reached over HTTP
	Point  string // where it kills itself; "": nowhere
	N      int    // the how manieth time
}

func (c *serverConfig) ledger() string { return filepath.Join(c.Dir, "ledger") }

// lifetime bounds a server process.
const lifetime = time.Minute

// serve is the server process. Its first line of output is its address; it ends when its
// input does, and then says how often it passed each point.
func serve(text string) int {
	var c serverConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fail(err)
	}
	tools, err := c.toolsets()
	if err != nil {
		return fail(err)
	}
	var mu sync.Mutex
	hits := map[string]int{}
	s, err := testserver.New(testserver.Config{
		File: filepath.Join(c.Dir, "a2a-server.yaml"), Environment: []string{"PATH=" + os.Getenv("PATH")}, Tools: tools, Log: zerolog.New(os.Stderr).Level(zerolog.WarnLevel),
		Set: map[string]string{"listen": "127.0.0.1:0", "data": filepath.Join(c.Dir, "data"), "limits.grace": "2s"},
		CrashPoint: func(point string) {
			mu.Lock()
			hits[point]++
			now := point == c.Point && hits[point] == c.N
			mu.Unlock()
			if now {
				for range 1000 {
					runtime.Gosched() // whoever is about to do what it may not do yet gets the time to do it
				}
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
	})
	if err != nil {
		return fail(err)
	}
	fmt.Println(s.Addr())
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := s.Run(ctx); err != nil {
		return fail(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(hits); err != nil {
		return fail(err)
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 3
}
