package a2a_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// serveGRPC serves s over gRPC on a port of its own, and returns its address.
func serveGRPC(t testing.TB, s *a2a.Server, c a2a.GRPCConfig) (g *a2a.GRPC, at string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g = s.GRPC(c)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		g.EndCalls()
		if !g.Stop(ctx) {
			t.Error("a call does not end")
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return g, l.Addr().String()
}

// dialGRPC returns a connection without TLS.
func dialGRPC(t testing.TB, at string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(at, append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// grpcClient returns the official client for an address.
func grpcClient(t testing.TB, at string) *a2aclient.Client {
	t.Helper()
	c, err := a2aclient.NewFromEndpoints(t.Context(), []*sdk.AgentInterface{sdk.NewAgentInterface(at, sdk.TransportProtocolGRPC)},
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Destroy() })
	return c
}

// service returns the generated client.
func service(t testing.TB, at string) a2apb.A2AServiceClient {
	return a2apb.NewA2AServiceClient(dialGRPC(t, at))
}

// as returns a context whose calls are made by somebody of [wireAuthenticate].
func as(ctx context.Context, who string, more ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, append([]string{"authorization", "Bearer " + who}, more...)...)
}

// details returns the code and the details of an error, A2A's own first, which comes last.
func details(err error) (code codes.Code, infos []*errdetails.ErrorInfo, fields []string) {
	st := status.Convert(err)
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			infos = slices.Insert(infos, 0, d)
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	return st.Code(), infos, fields
}

// wantStatus checks the code, A2A's reason and the fields of an error.
func wantStatus(t *testing.T, what string, err error, code codes.Code, reason string, fields ...string) {
	t.Helper()
	got, infos, named := details(err)
	if got != code || len(infos) == 0 || infos[0].GetReason() != reason || infos[0].GetDomain() != "a2a-protocol.org" || !slices.Equal(named, fields) {
		t.Errorf("%s = %v, details %v %v; want %v, %s, %v", what, err, infos, named, code, reason, fields)
	}
}

// A call without a valid credential is refused before its message is received, and so is one
// without a role.
func TestGRPCAuthenticatesFirst(t *testing.T) {
	t.Parallel()
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) {
		c.Authenticator = challenger{auth.Func(func(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
			switch got := strings.Join(c.Header("Authorization"), " "); got {
			case "Bearer viewer":
				return auth.Principal{Subject: "v", Tenant: "acme", Roles: []string{auth.RoleViewer}, Method: "test"}, nil
			case "Bearer down":
				return auth.Principal{}, errors.New("open /data/secret.db: permission denied")
			case "":
				return auth.Principal{}, auth.ErrNone
			}
			return auth.Principal{}, &auth.Error{Code: "invalid_token", Description: "this token is not known"}
		}), []string{"Bearer", "ApiKey"}}
	})
	_, at := serveGRPC(t, s.handler, a2a.GRPCConfig{})
	conn := dialGRPC(t, at)
	for who, want := range map[string]struct {
		code   codes.Code
		reason string
	}{
		"": {codes.Unauthenticated, "UNAUTHENTICATED"}, "wrong": {codes.Unauthenticated, "UNAUTHENTICATED"},
		"down": {codes.Unavailable, "UNAVAILABLE"}, "viewer": {codes.PermissionDenied, "PERMISSION_DENIED"},
	} {
		ctx := within
		if who != "" {
			ctx = as(ctx, who)
		}
		// The message is never sent.
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, a2apb.A2AService_SendMessage_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		err = stream.RecvMsg(&a2apb.SendMessageResponse{})
		wantStatus(t, "SendMessage of "+who, err, want.code, want.reason)
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: the client sees %v", who, err)
		}
		if got := stream.Trailer()["www-authenticate"]; (len(got) == 2) != (want.code == codes.Unauthenticated) {
			t.Errorf("%s: the challenges are %q", who, got)
		}
	}
}

// challenger is an Authenticator with challenges.
type challenger struct {
	auth.Authenticator
	schemes []string
}

func (c challenger) Challenges() []string { return c.schemes }
