package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/internal/app/cli"
	"a2a-server/internal/app/remote"
	"a2a-server/internal/visible"
)

func healthCommand(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "health", Short: "ask a running server whether it is ready; exit with 1 and the reason if not"}
	c.Flags().SortFlags = false
	given := &cli.Flags{}
	cli.FileFlag(c, given)
	base := c.Flags().String("url", "", "The server's `URL`; /readyz is added to it. Defaults to the configured listen address, on this machine.")
	verbose := c.Flags().Bool("verbose", false, "Print the state of approvals, tasks, disk and queue, which a server tells only its own machine.")
	timeout := c.Flags().Duration("timeout", 3*time.Second, "How long to wait for the answer, such as 500ms. Default 3s.")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *timeout <= 0 {
			return cli.Usage("health: --timeout is %v: write a duration such as 3s", *timeout)
		}
		own := *base == ""
		if own {
			c, err := p.Load(given)
			if err != nil {
				return err
			}
			if *base = remote.LocalURL(c); *base == "" {
				return cli.Usage("health: listen is %s, so only the server knows its port: give it with --url", c.Listen)
			}
		}
		u, err := url.Parse(*base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return cli.Usage("health: --url is %q, which is not a URL: write it as http://127.0.0.1:8080", *base)
		}
		ctx, cancel := context.WithTimeout(c.Context(), *timeout)
		defer cancel()
		at := u.JoinPath("readyz").String()
		if *verbose {
			at += "?verbose"
		}
		details, err := ready(ctx, at, own)
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("no answer within %v", *timeout)
			}
			return fmt.Errorf("%s is not ready: %w", u.Redacted(), err)
		}
		_, err = fmt.Fprint(p.Stdout, "ready\n"+visible.Text(details))
		return err
	}
	return c
}

// ready asks a server, ignoring proxies set in the environment, and returns the details of the
// answer, or why it is not ready. own says that it is the server of this machine's configuration. Its certificate is
// not verified: it has the names that clients use, and the request has no secret.
func ready(ctx context.Context, at string, own bool) (details string, _ error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return "", err
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: own}}, //nolint:gosec // see above
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the URL has been named
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = context.DeadlineExceeded
		}
		return "", err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	said, err := io.ReadAll(io.LimitReader(answer.Body, 16<<10))
	text, details, _ := strings.Cut(string(said), "\n")
	switch {
	case err != nil:
		return "", err
	case answer.StatusCode == http.StatusOK && text == "ok":
		return details, nil
	}
	why := visible.Line(answer.Status) + ": " + visible.Text(strings.TrimSpace(string(said)))
	if answer.StatusCode == http.StatusOK {
		why = "it is no a2a-server, or something else answers for it: " + why
	}
	return "", errors.New(why)
}
