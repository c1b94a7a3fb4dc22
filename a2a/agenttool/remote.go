package agenttool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"a2a-server/internal/egress"
	"a2a-server/internal/visible"
)

// remote is the way to the agent. It is safe for concurrent use.
type remote struct {
	config *Config
	origin *url.URL
	http   *http.Client

	mu      sync.Mutex
	client  *a2aclient.Client
	known   *a2a.AgentCard
	fetched time.Time
}

func (c *Config) egress() egress.Config {
	return egress.Config{
		Allow: c.Allow, Own: c.Own, Header: c.Header,
		Timeout: -1, // contexts limit the time
		// Requests have effects: the standard library must not repeat them.
		NoReuse: true, MaxBytes: maxBody, Streams: true, ReadBuffer: mergeBuffer,
	}
}

func newRemote(c *Config) (*remote, error) {
	client, err := egress.NewClient(c.egress())
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(c.Card)
	client.Transport = &transport{client.Transport}
	return &remote{config: c, origin: u, http: client}, err
}

// card returns the agent's card, at most cardAge old.
func (r *remote) card(ctx context.Context) (*a2a.AgentCard, error) {
	r.mu.Lock()
	known, fresh := r.known, r.config.Now().Sub(r.fetched) < cardAge
	r.mu.Unlock()
	if known != nil && fresh {
		return known, nil
	}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resolver := agentcard.NewResolver(r.http)
	resolver.CardParser = a2av0.NewAgentCardParser()
	var options []agentcard.ResolveOption
	if path := r.origin.EscapedPath(); strings.Trim(path, "/") != "" {
		options = append(options, agentcard.WithPath(path))
	}
	base := url.URL{Scheme: r.origin.Scheme, Host: r.origin.Host}
	card, err := resolver.Resolve(within, base.String(), options...)
	if status, is := errors.AsType[*agentcard.ErrStatusNotOK](err); is {
		return nil, fmt.Errorf("its card cannot be read: HTTP status %d", status.StatusCode)
	}
	if err != nil {
		r.config.Logger.Warn().Str("agent", r.config.Name).Str("error", visible.Clip(brief(err).Error(), maxError)).Msg("the card of an agent cannot be read")
		return nil, fmt.Errorf("its card cannot be read: %w", public(err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.client, r.fetched = card, nil, r.config.Now()
	return card, nil
}

// connect returns a client for the first interface of the card that this package speaks. Nothing
// of a call has been sent when it fails.
func (r *remote) connect(ctx context.Context) (*a2aclient.Client, error) {
	card, err := r.card(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil && r.known == card {
		return r.client, nil
	}
	spoken, err := r.spoken(card)
	if err != nil {
		return nil, err
	}
	only := *card
	only.SupportedInterfaces = []*a2a.AgentInterface{spoken}
	client, err := a2aclient.NewFromCard(ctx, &only,
		a2aclient.WithDefaultsDisabled(), a2aclient.WithConfig(a2aclient.Config{DisableTenantPropagation: true}),
		a2aclient.WithJSONRPCTransport(r.http), a2aclient.WithRESTTransport(r.http),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: r.http}), a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: r.http}),
	)
	if err != nil {
		return nil, fmt.Errorf("its card cannot be used: %w", err)
	}
	if r.known == card {
		r.client = client
	}
	return client, nil
}

// streams reports whether the card says that the agent streams.
func (r *remote) streams() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known == nil || r.known.Capabilities.Streaming
}

// spoken returns the first interface of a card that this package speaks.
func (r *remote) spoken(card *a2a.AgentCard) (*a2a.AgentInterface, error) {
	var others []string
	for _, i := range card.SupportedInterfaces {
		if i == nil {
			continue
		}
		major, _, _ := strings.Cut(string(i.ProtocolVersion), ".")
		if i.ProtocolBinding != a2a.TransportProtocolJSONRPC && i.ProtocolBinding != a2a.TransportProtocolHTTPJSON || major != "1" && major != "0" {
			others = append(others, visible.Clip(string(i.ProtocolBinding)+" "+string(i.ProtocolVersion), 40))
			continue
		}
		u, err := url.Parse(i.URL)
		if err != nil || u.User != nil || u.Scheme != r.origin.Scheme || !strings.EqualFold(u.Hostname(), r.origin.Hostname()) || port(u) != port(r.origin) {
			return nil, fmt.Errorf("its card names an interface at %s, which is not where the card is: nothing is sent there", visible.Quote(i.URL, 200))
		}
		return i, nil
	}
	return nil, fmt.Errorf("its card has no interface for JSON-RPC or HTTP+JSON of A2A 1.0 or 0.3, only %s", visible.Quote(strings.Join(others, ", "), 200))
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// transport makes streams of the responses.
type transport struct{ next http.RoundTripper }

// CloseIdleConnections is the method that [http.Client.CloseIdleConnections] looks for.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper]. It merges the chunks of a stream that arrive together, and turns a JSON
// response to a request for a stream, such as the error of JSON-RPC, into a stream with one event: the
// SDK's client would report nothing.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		resp.Body = newMerger(resp.Body)
		return resp, nil
	}
	if resp.StatusCode != http.StatusOK || kind != "application/json" || req.Header.Get("Accept") != "text/event-stream" {
		return resp, nil
	}
	raw, err := io.ReadAll(resp.Body) // package egress limits it
	_ = resp.Body.Close()             // its error is of no use: the response was read
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return nil, publicError("its answer is not JSON")
	}
	resp.Body = io.NopCloser(strings.NewReader("data: " + line.String() + "\n\n"))
	resp.Header.Set("Content-Type", "text/event-stream")
	resp.ContentLength = -1
	return resp, nil
}

// publicError is an error that callers may read.
type publicError string

func (e publicError) Error() string { return string(e) }

// brief returns an error without the URL that the HTTP client puts in front.
func brief(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// public returns the callers' version of an error of a connection.
func public(err error) error {
	if e, ok := errors.AsType[publicError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*a2a.Error](err); ok {
		return publicError(visible.Clip(e.Message, maxError))
	}
	if e, ok := errors.AsType[*egress.HeaderError](err); ok {
		return publicError(e.Err.Error())
	}
	if _, ok := errors.AsType[*egress.RefusedError](err); ok {
		return publicError("its address is not allowed; list it under networks")
	}
	if _, ok := errors.AsType[*egress.TooLargeError](err); ok {
		return publicError(fmt.Sprintf("its answer is longer than %d bytes", maxBody))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return publicError("it did not answer in time")
	}
	return publicError("the connection failed; the log of this server says why")
}
