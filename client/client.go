package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Config configures a [Client]. Either URL or Socket is required.
type Config struct {
	// URL is the base URL of the server, including any path that a proxy in front adds.
	URL string
	// Socket is the path of the admin socket of a server on this machine. The server knows the
	// caller by the kernel, so that no credential is needed.
	Socket string
	// Dial connects to Socket. Defaults to a plain connection.
	Dial func(ctx context.Context, path string) (net.Conn, error)
	// Credential is sent with each request. Defaults to none.
	Credential Credential
	// Anonymous selects resources that were created without authentication, which needs the
	// role admin.
	Anonymous bool
	// HTTP sends the requests to URL. Redirects are never followed. Defaults to a client of its
	// own.
	HTTP *http.Client
	// Retries is how often a request is sent again after it has failed, where that is safe.
	// Defaults to 4; a negative number means never. [Client.Watch] and [Client.TaskEvents]
	// connect again for as long as their context lasts.
	Retries int
	// OnRetry is called before each pause after which a request is sent again. Defaults to
	// nothing.
	OnRetry func(cause error, pause time.Duration)
}

// A Credential returns the header field that authenticates a request. It is called for every
// request, so that it may return a new token once the old one has expired.
type Credential func(context.Context) (field, value string, err error)

// Token returns the credential of a bearer token.
func Token(token string) Credential {
	return func(context.Context) (string, string, error) { return "Authorization", "Bearer " + token, nil }
}

// Key returns the credential of an API key, which is sent in X-API-Key.
func Key(key string) Credential {
	return func(context.Context) (string, string, error) { return "X-API-Key", key, nil }
}

// Client uses the approvals API of a server. It is safe for concurrent use.
//
// Methods that only read are retried after a lost connection and after the statuses 429 and
// 503. Methods that change something are retried only when nothing was sent, or when the
// server has answered 429 or 503. If it is unknown whether a change was made, the error is an
// [*OutcomeError]. A refusal is an [*Error].
type Client struct {
	cfg  Config
	base string // URL of the API
	web  *http.Client
}

// path is where the API is, below the base URL.
const path = "/api/v1"

// socketHost is the host that requests to an admin socket name.
const socketHost = "a2a-server.admin"

// New returns a client. It does not connect.
func New(cfg Config) (*Client, error) {
	if (cfg.URL == "") == (cfg.Socket == "") {
		return nil, errors.New("a client needs either the URL of a server or the path of its socket")
	}
	if cfg.Retries == 0 {
		cfg.Retries = 4
	}
	c := &Client{cfg: cfg}
	if cfg.Socket != "" {
		dial := cfg.Dial
		if dial == nil {
			dial = func(ctx context.Context, path string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", path)
			}
		}
		c.base = "http://" + socketHost + path
		c.web = &http.Client{Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, cfg.Socket) },
			IdleConnTimeout:    5 * time.Second,
			DisableCompression: true,
		}}
	} else {
		u, err := url.Parse(cfg.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return nil, fmt.Errorf("%.200q is not the URL of a server: write one such as https://agents.example.com", cfg.URL)
		}
		c.base = strings.TrimRight(u.String(), "/") + path
		c.web = &http.Client{Transport: http.DefaultTransport}
		if cfg.HTTP != nil {
			own := *cfg.HTTP
			c.web = &own
		}
	}
	c.web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// values are the parameters of a query. Empty parameters are left out.
type values map[string]string

func number[N int | uint64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(n), 10) //nolint:gosec // a negative one is refused by the server
}

func flag(set bool) string {
	if set {
		return "true"
	}
	return ""
}

// WhoAmI returns the caller as the server knows it.
func (c *Client) WhoAmI(ctx context.Context) (WhoAmI, error) {
	return call[WhoAmI](ctx, c, http.MethodGet, "/whoami", nil, nil)
}

// Approvals lists approvals. A page may have fewer than q.Limit, or none, although its Next continues it.
func (c *Client) Approvals(ctx context.Context, q ApprovalQuery) (ApprovalPage, error) {
	return call[ApprovalPage](ctx, c, http.MethodGet, "/approvals", values{
		"state": string(q.State), "task": q.Task, "tool": q.Tool, "gate": q.Gate, "mine": flag(q.Mine), "order": q.Order,
		"limit": number(q.Limit), "cursor": q.Cursor,
	}, nil)
}

// Approval returns an approval with the context that a person needs to decide it.
func (c *Client) Approval(ctx context.Context, id string) (ApprovalDetail, error) {
	return call[ApprovalDetail](ctx, c, http.MethodGet, "/approvals/"+url.PathEscape(id), nil, nil)
}

// Decide decides an approval. It is safe to repeat: repeating a decision is no error, and a
// different decision is an [*Error] with the approval as it is.
func (c *Client) Decide(ctx context.Context, id string, d Decision) (Decided, error) {
	return call[Decided](ctx, c, http.MethodPost, "/approvals/"+url.PathEscape(id)+"/decision", nil, d)
}

// DecideAll decides up to 100 approvals, and returns a result for each, in their order. The
// decisions about a task count together or not at all.
func (c *Client) DecideAll(ctx context.Context, list []BatchDecision) ([]BatchResult, error) {
	out, err := call[BatchResults](ctx, c, http.MethodPost, "/decisions", nil, Batch{list})
	return out.Items, err
}

// Extend moves the deadline of a pending approval.
func (c *Client) Extend(ctx context.Context, id string, e Extension) (Decided, error) {
	return call[Decided](ctx, c, http.MethodPost, "/approvals/"+url.PathEscape(id)+"/extension", nil, e)
}

// AskAnew ends a pending approval, with its votes, and asks it again on its terms and those of the gates of now,
// if these demand more: see [ApprovalDetail]. The result has the new approval.
func (c *Client) AskAnew(ctx context.Context, id string, a Anew) (Decided, error) {
	return call[Decided](ctx, c, http.MethodPost, "/approvals/"+url.PathEscape(id)+"/anew", nil, a)
}

// Grants lists the grants that are in force.
func (c *Client) Grants(ctx context.Context, q GrantQuery) (GrantPage, error) {
	return call[GrantPage](ctx, c, http.MethodGet, "/grants", values{"limit": number(q.Limit), "cursor": q.Cursor}, nil)
}

// RevokeGrant revokes a grant: afterwards no call starts by it. reason is for the audit.
func (c *Client) RevokeGrant(ctx context.Context, id, reason string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, "/grants/"+url.PathEscape(id), values{"reason": reason}, nil)
	return err
}

// Tasks lists the tasks of the tenant for a caller that oversees it, and else the caller's
// own.
func (c *Client) Tasks(ctx context.Context, q TaskQuery) (TaskPage, error) {
	return call[TaskPage](ctx, c, http.MethodGet, "/tasks", values{
		"context": q.Context, "state": q.State, "principal": q.Principal, "limit": number(q.Limit), "cursor": q.Cursor,
	}, nil)
}

// Task returns a task with its log.
func (c *Client) Task(ctx context.Context, id string) (TaskDetail, error) {
	return call[TaskDetail](ctx, c, http.MethodGet, "/tasks/"+url.PathEscape(id), nil, nil)
}

// CancelTask cancels a task.
func (c *Client) CancelTask(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/tasks/"+url.PathEscape(id)+"/cancel", nil, nil)
	return err
}

// CancelCall cancels a call of a task.
func (c *Client) CancelCall(ctx context.Context, task, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/tasks/"+url.PathEscape(task)+"/calls/"+url.PathEscape(id)+"/cancel", nil, nil)
	return err
}

// DeleteTask deletes a task that has ended.
func (c *Client) DeleteTask(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, "/tasks/"+url.PathEscape(id), nil, nil)
	return err
}

// Webhooks lists webhooks.
func (c *Client) Webhooks(ctx context.Context, q WebhookQuery) (WebhookPage, error) {
	return call[WebhookPage](ctx, c, http.MethodGet, "/webhooks", values{
		"task": q.Task, "state": q.State, "principal": q.Principal, "limit": number(q.Limit), "cursor": q.Cursor, "anonymous": flag(q.Anonymous),
	}, nil)
}

// Notifications lists the messages of routes that are not sent: they wait, are tried again, or
// have failed.
func (c *Client) Notifications(ctx context.Context, q NotificationQuery) (NotificationPage, error) {
	return call[NotificationPage](ctx, c, http.MethodGet, "/notifications", values{
		"state": q.State, "route": q.Route, "limit": number(q.Limit), "cursor": q.Cursor, "anonymous": flag(q.Anonymous),
	}, nil)
}

// DeleteWebhook deletes a webhook of a task, and reports whether it was there. n is its Number
// as listed, so that a webhook set again later with this id stays; 0 deletes any webhook with
// the id.
func (c *Client) DeleteWebhook(ctx context.Context, task, id string, n uint64) (bool, error) {
	out, err := call[Deleted](ctx, c, http.MethodDelete, "/tasks/"+url.PathEscape(task)+"/webhooks/"+url.PathEscape(id), values{"number": number(n)}, nil)
	return out.Deleted, err
}

// Audit returns up to limit entries of the audit after the entry with number after. A limit of
// 0 means the server's default.
func (c *Client) Audit(ctx context.Context, after uint64, limit int) (AuditPage, error) {
	return call[AuditPage](ctx, c, http.MethodGet, "/audit", values{"after": number(after), "limit": number(limit)}, nil)
}
