package interop

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// cliClient is the command line of the Go SDK, run once for each operation.
type cliClient struct {
	noHooks
	program, url string
	flags        []string
	grpc         bool // it is told the address then: of the card it takes none
}

// to is where it calls operations.
func (c *cliClient) to(ctx context.Context) (string, error) {
	if !c.grpc {
		return c.url, nil
	}
	card, err := c.card(ctx)
	if err != nil {
		return "", err
	}
	for _, i := range card.SupportedInterfaces {
		if i.ProtocolBinding == a2a.TransportProtocolGRPC {
			return i.URL, nil
		}
	}
	return "", errors.New("the card has no interface of gRPC")
}

// command adds what every command gets. Its limit holds for streams, too.
func (c *cliClient) command(args ...string) []string {
	return append(append(args, "--output", "json", "--timeout", "10m"), c.flags...)
}

func (c *cliClient) one(ctx context.Context, args ...string) (json.RawMessage, error) {
	raw, err := one(ctx, c.program, c.command(args...)...)
	return raw, cliError(err)
}

// cliError takes a failure that the program reports by itself for a refusal: it shows
// the server's text and no more.
func cliError(err error) error {
	var exit *exitError
	if !errors.As(err, &exit) {
		return err
	}
	text, ok := strings.CutPrefix(exit.stderr, "Error: ")
	if !ok {
		return err
	}
	return &refusal{reason: untold, detail: untold, text: strings.TrimSpace(text)}
}

func (c *cliClient) events(ctx context.Context, args ...string) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for raw, err := range run(ctx, c.program, c.command(args...)...) {
			response, err := decode[a2a.StreamResponse](raw, cliError(err))
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(response.Event, nil) {
				return
			}
		}
	}
}

func (c *cliClient) card(ctx context.Context) (*a2a.AgentCard, error) {
	return decode[a2a.AgentCard](c.one(ctx, "discover", c.url))
}

func (c *cliClient) extended(ctx context.Context) (*a2a.AgentCard, error) {
	return decode[a2a.AgentCard](c.one(ctx, "discover", c.url, "--extended"))
}

func (c *cliClient) sending(ctx context.Context, req *a2a.SendMessageRequest, more ...string) ([]string, error) {
	message, err := json.Marshal(req.Message)
	if err != nil {
		return nil, err
	}
	to, err := c.to(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"send", to, "--json", string(message)}, more...)
	if req.Config != nil && req.Config.ReturnImmediately {
		args = append(args, "--immediate")
	}
	return args, nil
}

func (c *cliClient) send(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	args, err := c.sending(ctx, req)
	if err != nil {
		return nil, err
	}
	raw, err := c.one(ctx, args...)
	if err != nil {
		return nil, err
	}
	// It prints the result without saying which of the two it is.
	var is struct {
		Role string `json:"role"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return nil, err
	}
	if is.Role != "" {
		return decode[a2a.Message](raw, nil)
	}
	return decode[a2a.Task](raw, nil)
}

func (c *cliClient) stream(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	args, err := c.sending(ctx, req, "--stream")
	if err != nil {
		return func(yield func(a2a.Event, error) bool) { yield(nil, err) }
	}
	return c.events(ctx, args...)
}

func (c *cliClient) get(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	to, err := c.to(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{"get", "task", to, string(req.ID)}
	if req.HistoryLength != nil {
		args = append(args, "--history", strconv.Itoa(*req.HistoryLength))
	}
	return decode[a2a.Task](c.one(ctx, args...))
}

func (c *cliClient) list(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	to, err := c.to(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{"list", "tasks", to, "--context", req.ContextID, "--limit", strconv.Itoa(req.PageSize), "--page-token", req.PageToken}
	if req.Status != "" {
		// Its names are those of the protocol in lower case, with a hyphen.
		name := strings.ToLower(strings.TrimPrefix(string(req.Status), "TASK_STATE_"))
		args = append(args, "--status", strings.ReplaceAll(name, "_", "-"))
	}
	if req.StatusTimestampAfter != nil {
		args = append(args, "--since", req.StatusTimestampAfter.Format(time.RFC3339))
	}
	if req.IncludeArtifacts {
		args = append(args, "--with-artifacts")
	}
	return decode[a2a.ListTasksResponse](c.one(ctx, args...))
}

func (c *cliClient) cancel(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	to, err := c.to(ctx)
	if err != nil {
		return nil, err
	}
	return decode[a2a.Task](c.one(ctx, "cancel", to, string(req.ID)))
}

func (c *cliClient) subscribe(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	to, err := c.to(ctx)
	if err != nil {
		return func(yield func(a2a.Event, error) bool) { yield(nil, err) }
	}
	return c.events(ctx, "subscribe", to, string(req.ID))
}

func (c *cliClient) move(_ context.Context, url string) error {
	c.url = url
	return nil
}
