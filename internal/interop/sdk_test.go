package interop

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	grpc03 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	grpc10 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// sdkClient is the client of the Go SDK, found through the agent card.
type sdkClient struct {
	url      string
	binding  a2a.TransportProtocol
	version  a2a.ProtocolVersion // 1.0 if empty
	resolver *agentcard.Resolver
	headers  headers // of every call but that of the card
}

// connect returns a client that has one transport only, so that it cannot fall back
// on another.
func (s *sdkClient) connect(ctx context.Context) (*a2aclient.Client, error) {
	card, err := s.card(ctx)
	if err != nil {
		return nil, err
	}
	// The default client ends streams after three minutes; ours has no limit.
	return a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), s.transport(&http.Client{Transport: s.headers}))
}

// overGRPC are the options of a connection that sends the headers as metadata.
func (h headers) overGRPC() []grpc.DialOption {
	var pairs []string
	for name, value := range h {
		pairs = append(pairs, name, value)
	}
	with := func(ctx context.Context) context.Context { return metadata.AppendToOutgoingContext(ctx, pairs...) }
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			return invoke(with(ctx), method, req, reply, conn, options...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(with(ctx), d, conn, method, options...)
		}),
	}
}

func (s *sdkClient) transport(c *http.Client) a2aclient.FactoryOption {
	rest := s.binding == a2a.TransportProtocolHTTPJSON
	switch {
	case s.version == a2av0.Version && s.binding == a2a.TransportProtocolGRPC:
		return grpc03.WithGRPCTransport(s.headers.overGRPC()...)
	case s.binding == a2a.TransportProtocolGRPC:
		return grpc10.WithGRPCTransport(s.headers.overGRPC()...)
	case s.version == a2av0.Version && rest:
		return a2aclient.WithCompatTransport(s.version, s.binding, a2av0.NewRESTTransportFactory(a2av0.RESTTransportConfig{Client: c}))
	case s.version == a2av0.Version:
		return a2aclient.WithCompatTransport(s.version, s.binding, a2av0.NewJSONRPCTransportFactory(a2av0.JSONRPCTransportConfig{Client: c}))
	case rest:
		return a2aclient.WithRESTTransport(c)
	default:
		return a2aclient.WithJSONRPCTransport(c)
	}
}

// headers is a transport that sends headers, by their names.
type headers map[string]string

// bearer returns the header that has a token, none for "".
func bearer(token string) headers {
	if token == "" {
		return nil
	}
	return headers{"Authorization": "Bearer " + token}
}

// RoundTrip implements [http.RoundTripper].
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (s *sdkClient) card(ctx context.Context) (*a2a.AgentCard, error) {
	return s.resolver.Resolve(ctx, s.url)
}

func (s *sdkClient) extended(ctx context.Context) (*a2a.AgentCard, error) {
	return sdkCall(ctx, s, (*a2aclient.Client).GetExtendedAgentCard, &a2a.GetExtendedAgentCardRequest{})
}

func (s *sdkClient) send(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	return sdkCall(ctx, s, (*a2aclient.Client).SendMessage, req)
}

func (s *sdkClient) stream(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return sdkStream(ctx, s, (*a2aclient.Client).SendStreamingMessage, req)
}

func (s *sdkClient) get(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return sdkCall(ctx, s, (*a2aclient.Client).GetTask, req)
}

func (s *sdkClient) list(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return sdkCall(ctx, s, (*a2aclient.Client).ListTasks, req)
}

func (s *sdkClient) cancel(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return sdkCall(ctx, s, (*a2aclient.Client).CancelTask, req)
}

func (s *sdkClient) subscribe(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return sdkStream(ctx, s, (*a2aclient.Client).SubscribeToTask, req)
}

func (s *sdkClient) setHook(ctx context.Context, req *a2a.PushConfig) (*a2a.PushConfig, error) {
	return sdkCall(ctx, s, (*a2aclient.Client).CreateTaskPushConfig, req)
}

func (s *sdkClient) getHook(ctx context.Context, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return sdkCall(ctx, s, (*a2aclient.Client).GetTaskPushConfig, req)
}

func (s *sdkClient) listHooks(ctx context.Context, req *a2a.ListTaskPushConfigRequest) ([]*a2a.PushConfig, error) {
	return sdkCall(ctx, s, (*a2aclient.Client).ListTaskPushConfigs, req)
}

func (s *sdkClient) deleteHook(ctx context.Context, req *a2a.DeleteTaskPushConfigRequest) error {
	_, err := sdkCall(ctx, s, func(c *a2aclient.Client, ctx context.Context, req *a2a.DeleteTaskPushConfigRequest) (struct{}, error) {
		return struct{}{}, c.DeleteTaskPushConfig(ctx, req)
	}, req)
	return err
}

// sdkCall makes a call on a connection of its own.
func sdkCall[Q, R any](ctx context.Context, s *sdkClient, call func(*a2aclient.Client, context.Context, Q) (R, error), req Q) (R, error) {
	var none R
	c, err := s.connect(ctx)
	if err != nil {
		return none, err
	}
	result, err := call(c, ctx, req)
	return result, errors.Join(sdkError(err), c.Destroy())
}

// sdkStream follows a stream on a connection of its own.
func sdkStream[Q any](ctx context.Context, s *sdkClient, call func(*a2aclient.Client, context.Context, Q) iter.Seq2[a2a.Event, error], req Q) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c, err := s.connect(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for event, err := range call(c, ctx, req) {
			if !yield(event, sdkError(err)) {
				break
			}
		}
		if err := c.Destroy(); err != nil {
			panic(err) // no transport can fail to go
		}
	}
}

// sdkError tells a refusal of the server by the type that only those have. The client
// replaces the reason on the wire by that of its own error.
func sdkError(err error) error {
	var wrong *a2a.Error
	if !errors.As(err, &wrong) {
		return err
	}
	return &refusal{reason: a2a.ErrorReason(wrong.Err), detail: untold, text: wrong.Message}
}

func (s *sdkClient) move(_ context.Context, url string) error {
	s.url = url
	return nil
}
