package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/app"
	"a2a-server/internal/app/config"
)

// callerHeader names who makes a request to the program under test.
const callerHeader = "X-Caller"

// program serves as cmd/a2a-server does, with its listener and limits, but believes
// what callers say of themselves.
func program(s *spec, began time.Time) error {
	c, err := config.Load(config.Source{Flags: map[string]string{"listen": "127.0.0.1:0", "data": s.File, "log.level": "error"}})
	if err != nil {
		return err
	}
	a, err := app.New(app.Options{Config: c, Log: logger(), Authenticate: func(r *http.Request) (auth.Principal, error) {
		name := r.Header.Get(callerHeader)
		if name == "" {
			return auth.Principal{}, errors.New("nobody")
		}
		return auth.Principal{Subject: name, Method: "header"}, nil
	}})
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
