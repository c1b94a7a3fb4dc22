package adminsocket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// Client asks the server that listens on a socket. It is safe for concurrent use.
type Client struct {
	path string
	web  *http.Client
}

// NewClient returns a client of the socket at path. It connects for each request.
func NewClient(path string) *Client {
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := dial(ctx, path)
		if err != nil {
			return nil, &unreachableError{err}
		}
		return c, nil
	}
	return &Client{path, &http.Client{
		Transport:     &http.Transport{DialContext: connect, DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// unreachableError means that nothing was sent.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string { return e.cause.Error() }
func (e *unreachableError) Unwrap() error { return e.cause }

// OutcomeError means that a change was sent and not answered: it is not known whether it has
// been made.
type OutcomeError struct{ Cause error }

// Error says that, and not what to do next, which depends on the change.
func (e *OutcomeError) Error() string { return "the outcome is unknown: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *OutcomeError) Unwrap() error { return e.Cause }

// Approvals lists approvals.
func (c *Client) Approvals(ctx context.Context, q Query) (*ApprovalPage, error) {
	out := new(ApprovalPage)
	return out, c.do(ctx, http.MethodGet, "/v1/approvals", q, nil, out)
}

// Approval returns an approval.
func (c *Client) Approval(ctx context.Context, id string, q Query) (*ShownApproval, error) {
	out := new(ShownApproval)
	path, err := pathOf("approvals", id, "")
	if err == nil {
		err = c.do(ctx, http.MethodGet, path, q, nil, out)
	}
	if err != nil {
		return nil, err
	}
	if out.Approval == nil {
		return nil, errNotOurs
	}
	return out, nil
}

// Decide decides an approval. If the error is an [*OutcomeError], it may have been decided.
func (c *Client) Decide(ctx context.Context, id string, q Query, d Decision) (*Decided, error) {
	path, err := pathOf("approvals", id, "/decision")
	if err != nil {
		return nil, err
	}
	out := new(Decided)
	return out, c.do(ctx, http.MethodPost, path, q, d, out)
}

// Tasks lists tasks.
func (c *Client) Tasks(ctx context.Context, q Query) (*TaskPage, error) {
	out := new(TaskPage)
	return out, c.do(ctx, http.MethodGet, "/v1/tasks", q, nil, out)
}

// Webhooks lists webhooks.
func (c *Client) Webhooks(ctx context.Context, q Query) (*WebhookPage, error) {
	out := new(WebhookPage)
	return out, c.do(ctx, http.MethodGet, "/v1/webhooks", q, nil, out)
}

// Task returns a task.
func (c *Client) Task(ctx context.Context, id string, q Query) (*ShownTask, error) {
	path, err := pathOf("tasks", id, "")
	if err != nil {
		return nil, err
	}
	out := new(ShownTask)
	return out, c.do(ctx, http.MethodGet, path, q, nil, out)
}

// Cancel cancels a task. If the error is an [*OutcomeError], it may have been canceled.
func (c *Client) Cancel(ctx context.Context, id string, q Query) error {
	path, err := pathOf("tasks", id, "/cancel")
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, path, q, nil, new(struct{}))
}

// Delete deletes a task that has ended. If the error is an [*OutcomeError], it may have been
// deleted.
func (c *Client) Delete(ctx context.Context, id string, q Query) error {
	path, err := pathOf("tasks", id, "")
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodDelete, path, q, nil, new(struct{}))
}

// DeleteWebhook deletes a webhook of a task, and reports whether it was there. If the error is
// an [*OutcomeError], it may have been deleted.
func (c *Client) DeleteWebhook(ctx context.Context, task, webhook string, q Query) (deleted bool, err error) {
	path, err := pathOf("tasks", task, "/webhook")
	if err != nil {
		return false, err
	}
	q.webhook = webhook
	var out DeletedWebhook
	err = c.do(ctx, http.MethodDelete, path, q, nil, &out)
	return err == nil && out.Deleted, err
}

// answerTime is longer than a server takes for any answer.
const answerTime = patience + requestTime + 15*time.Second

var errSilent = errors.New("the server has not answered in time")

// pathOf returns the path of something by its id. An id that none can have is not sent.
func pathOf(kind, id, rest string) (string, error) {
	for i, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '-') {
			id = ""
			break
		}
	}
	if id == "" || len(id) > longestID {
		return "", &Error{Status: http.StatusBadRequest, Reason: ReasonInvalid, Message: "that is not an id of one of the " + kind + ": 'a2a-server " + kind + " list' has them"}
	}
	return "/v1/" + kind + "/" + id + rest, nil
}

// longestID is longer than every id.
const longestID = 200

var errNotOurs = errors.New("what listens on the socket does not answer as this version of a2a-server does: use the same program for the command and the server")

// do sends a request and reads the answer into out.
func (c *Client) do(ctx context.Context, method, path string, q Query, body, out any) error {
	if err := context.Cause(ctx); err != nil {
		return err // nothing was sent
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errSilent)
	defer cancel()
	var content io.Reader = http.NoBody
	if body != nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // the arguments stay as they are
		if err := e.Encode(body); err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		if b.Len() > maxBody {
			return fmt.Errorf("the request has %d bytes, and at most %d are accepted: shorten it", b.Len(), maxBody)
		}
		content = &b
	}
	u := url.URL{Scheme: "http", Host: Host, RawQuery: q.values().Encode()}
	request, err := http.NewRequestWithContext(ctx, method, u.JoinPath(path).String(), content)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	status, answer, err := c.exchange(request)
	changes := method != http.MethodGet
	var unreachable *unreachableError
	switch {
	case errors.As(err, &unreachable):
		return c.explain(unreachable.cause)
	case err != nil && changes:
		return &OutcomeError{err}
	case err != nil:
		return fmt.Errorf("ask the server on %s: %w", c.path, err)
	}
	if status == http.StatusOK {
		if err = json.Unmarshal(answer, out); err != nil && changes {
			return &OutcomeError{errNotOurs}
		}
		if err != nil {
			return errNotOurs
		}
		return nil
	}
	var failed failure
	if err := json.Unmarshal(answer, &failed); err != nil || failed.Error == nil {
		failed.Error = &Error{Reason: ReasonUnclear, Message: errNotOurs.Error()}
	}
	failed.Error.Status = status
	if changes && failed.Error.Reason == ReasonUnclear {
		return &OutcomeError{failed.Error}
	}
	return failed.Error
}

// exchange sends a request and reads the whole answer.
func (c *Client) exchange(request *http.Request) (status int, answer []byte, err error) {
	response, err := c.web.Do(request)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // it names a URL that nobody knows
		}
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			err = fmt.Errorf("the connection ended before the answer: %w", err)
		}
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("the connection ended within the answer: %w", err)
	case len(answer) > maxAnswer:
		return 0, nil, fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)
	}
	return response.StatusCode, answer, nil
}

// explain says why nobody could be reached, and what to do.
func (c *Client) explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no socket %s: start the server, with users in auth.socket, or name its data folder with --data", c.path)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens on %s: the server that made it has ended; start it again", c.path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not for you: run this as the user who runs the server, or as root, such as with sudo", c.path)
	}
	return fmt.Errorf("connect to %s: %w", c.path, err)
}

// values returns q as the parameters of a request.
func (q Query) values() url.Values {
	v := url.Values{}
	for name, text := range map[string]string{"task": q.Task, "context": q.Context, "state": q.State, "cursor": q.Cursor, "principal": q.Principal, "webhook": q.webhook} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Number > 0 {
		v.Set("number", strconv.FormatUint(q.Number, 10))
	}
	if q.Anonymous {
		v.Set("anonymous", "true")
	}
	return v
}
