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

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/visible"
)

func healthCommand(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "health", Short: "ask a running server whether it is ready; exit with 1 and the reason if not"}
	h := &health{p: p, given: &cli.Flags{}}
	cli.FileFlag(c, h.given)
	c.Flags().StringVar(&h.data, "data", "", "The data `folder` of a server on this machine: its admin socket is asked first, if there is one.")
	c.Flags().StringVar(&h.url, "url", "", "The server's `URL`; /readyz is added to it. Defaults to the configured listen address, on this machine.")
	c.Flags().BoolVar(&h.verbose, "verbose", false, "Print the state of approvals, tasks, disk and queue, which a server tells only its own machine; else its admin socket is asked.")
	c.Flags().DurationVar(&h.timeout, "timeout", 3*time.Second, "How long to wait for the answer, such as 500ms. Default 3s.")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if h.timeout <= 0 {
			return cli.Usage("health: --timeout is %v: write a duration such as 3s", h.timeout)
		}
		ctx, cancel := context.WithTimeout(c.Context(), h.timeout)
		defer cancel()
		return h.ask(ctx)
	}
	return c
}

// health is the command of that name.
type health struct {
	p             *cli.Program
	given         *cli.Flags
	url, data     string
	verbose       bool
	timeout       time.Duration
	socket, own   string // "": only the URL is asked
	first         bool   // the socket is asked first
	socketProblem error  // why it has not said that the server is ready
}

// ask asks the admin socket or the URL, and then for details the way that is left.
func (h *health) ask(ctx context.Context) error {
	own := h.url == ""
	if err := h.find(); err != nil {
		return err
	}
	if h.first {
		if details, ok := h.askSocket(ctx); ok {
			return h.print(details)
		} else if h.url == "" {
			return h.socketProblem
		}
	}
	u, err := url.Parse(h.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return cli.Usage("health: --url is %q, which is not a URL: write it as http://127.0.0.1:8080", h.url)
	}
	at := u.JoinPath("readyz").String()
	if h.verbose {
		at += "?verbose"
	}
	details, err := ready(ctx, at, own)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v", h.timeout)
		}
		if why := remote.Unreachable(err); why != "" {
			err = errors.New(why)
		}
		return errors.Join(fmt.Errorf("%s is not ready: %w", u.Redacted(), err), h.socketProblem)
	}
	if h.verbose && details == "" && !h.first {
		details, _ = h.askSocket(ctx)
	}
	if h.verbose && details == "" {
		h.p.Note("no details: the server tells them only its own machine and, with public_url or trusted_proxies, only at its admin socket")
		if h.socketProblem != nil {
			h.p.Note(h.socketProblem.Error())
		}
	}
	return h.print(details)
}

// find finds the URL and the socket of a server of this machine's configuration.
func (h *health) find() error {
	if h.url != "" && h.data == "" && h.given.File == "" {
		return nil
	}
	c, err := h.p.LoadPlace(h.given)
	if err != nil {
		return err
	}
	h.socket, h.own = remote.SocketOf(c, h.data, h.given.File), c.OwnSocket()
	if h.url == "" {
		h.url = remote.LocalURL(c)
	}
	for _, socket := range []string{h.socket, h.own} {
		if _, err := os.Lstat(socket); err == nil {
			h.first = h.data != "" || h.url == ""
		}
	}
	if h.url == "" && !h.first {
		return cli.Usage("health: listen is %s, so only the server knows its port: give it with --url", c.Listen)
	}
	return nil
}

// askSocket asks the server at its socket, if it has one, for details. ok says that it is ready.
func (h *health) askSocket(ctx context.Context) (details string, ok bool) {
	if h.socket == "" {
		return "", false
	}
	said, err := remote.OfSocket(h.socket, h.own).OnSocket(ctx, http.MethodGet, debugapi.ReadyPath)
	if err != nil {
		h.socketProblem = fmt.Errorf("%s: %w", h.socket, err)
		return "", false
	}
	_, details, _ = strings.Cut(string(said), "\n")
	return details, true
}

// print says that the server is ready, with its details.
func (h *health) print(details string) error {
	if !h.verbose {
		details = ""
	}
	return h.p.Printf("ready\n%s", visible.Text(details))
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
