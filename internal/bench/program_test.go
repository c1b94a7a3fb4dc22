package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// callerHeader names who makes a request to the program under test.
const callerHeader = "X-Caller"

// program serves as cmd/a2a-server does, with its listener and limits.
func program(s *spec, began time.Time) error {
	tools, err := builtin.New(builtin.Config{Ledger: filepath.Join(s.File, "ledger.jsonl")})
	if err != nil {
		return err
	}
	c := testserver.Config{File: s.Config, Set: map[string]string{"listen": "127.0.0.1:0", "data": s.File}, Tools: []tool.Toolset{tools}, Log: logger()}
	a, err := testserver.New(c)
	if err != nil {
		return fmt.Errorf("put the program together: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	err = control(os.Stdin, os.Stdout, report{Addr: a.Addr().String(), Elapsed: time.Since(began)}, &service{release: func() {}})
	stop()
	return errors.Join(err, <-ended)
}
