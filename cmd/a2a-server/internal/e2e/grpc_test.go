package e2e_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"a2a-server/auth"
	"a2a-server/internal/testserver"
	"a2a-server/internal/tlsfiles/tlstest"
)

// dialGRPC returns a connection to a server's gRPC; nil: without TLS.
func dialGRPC(t *testing.T, at string, c *tls.Config) *grpc.ClientConn {
	t.Helper()
	creds := insecure.NewCredentials()
	if c != nil {
		creds = credentials.NewTLS(c)
	}
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// grpcAs returns a connection with a certificate, or without one if the pair is empty.
func (s *secure) grpcAs(t *testing.T, pair tlstest.Pair) *grpc.ClientConn {
	t.Helper()
	c := &tls.Config{RootCAs: s.ca.Pool()}
	if pair.Cert != nil {
		c.Certificates = []tls.Certificate{pair.TLS(t)}
	}
	return dialGRPC(t, s.server.GRPCAddr().String(), c)
}

// saysOver is says over gRPC.
func saysOver(t *testing.T, conn *grpc.ClientConn, header ...string) (code codes.Code, says string) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), header...)
	sent, err := a2apb.NewA2AServiceClient(conn).SendMessage(ctx, &a2apb.SendMessageRequest{Message: textMessage("/who")})
	for _, a := range sent.GetTask().GetArtifacts() {
		says = a.GetParts()[0].GetText()
	}
	return status.Code(err), says + status.Convert(err).Message()
}

// textMessage returns a message of a text.
func textMessage(text string) *a2apb.Message {
	return &a2apb.Message{MessageId: rand.Text(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: text}}}}
}

// What only gRPC has: a page, versions and TLS are as over HTTP, and reflection and health need
// a credential or not.
func TestGRPC(t *testing.T) {
	t.Parallel()
	s := startSecure(t, "grpc: {listen: 127.0.0.1:0, reflection: true}\n")
	plain := s.grpcAs(t, tlstest.Pair{})
	for name, c := range map[string]struct {
		conn   *grpc.ClientConn
		header []string
		code   codes.Code
		says   string
	}{
		"a page":              {plain, []string{"origin", "https://evil.example"}, codes.PermissionDenied, "Origin"},
		"another version":     {plain, []string{"a2a-version", "9.9"}, codes.FailedPrecondition, "9.9"},
		"the version":         {plain, []string{"a2a-version", "1.0.7"}, codes.OK, "acme/key:alice requester"},
		"foreign certificate": {s.grpcAs(t, s.named(t, tlstest.NewCA(t))), nil, codes.Unavailable, ""},
		"without TLS":         {dialGRPC(t, s.server.GRPCAddr().String(), nil), nil, codes.Unavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, says := saysOver(t, c.conn, append(c.header, "x-api-key", s.key)...); code != c.code || !strings.Contains(says, c.says) {
				t.Errorf("%v %s, want %v %s", code, says, c.code, c.says)
			}
		})
	}
	t.Run("reflection", func(t *testing.T) {
		t.Parallel()
		list := func(ctx context.Context) (names []string, err error) {
			stream, err := reflectionpb.NewServerReflectionClient(plain).ServerReflectionInfo(ctx)
			if err == nil {
				err = stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
			}
			if err != nil {
				return nil, err
			}
			answer, err := stream.Recv()
			for _, s := range answer.GetListServicesResponse().GetService() {
				names = append(names, s.GetName())
			}
			return names, err
		}
		if names, err := list(t.Context()); status.Code(err) != codes.Unauthenticated && !errors.Is(err, io.EOF) {
			t.Errorf("somebody who is not authenticated is told %q, %v", names, err)
		}
		if names, err := list(metadata.AppendToOutgoingContext(t.Context(), "x-api-key", s.key)); err != nil || !slices.Contains(names, "lf.a2a.v1.A2AService") {
			t.Errorf("the services are %q, %v", names, err)
		}
	})
	t.Run("health", func(t *testing.T) {
		t.Parallel()
		health := healthpb.NewHealthClient(plain)
		for service, want := range map[string]codes.Code{"": codes.OK, "lf.a2a.v1.A2AService": codes.OK, "other": codes.NotFound} {
			got, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
			if status.Code(err) != want || err == nil && got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
				t.Errorf("the health of %q is %v, %v", service, got, err)
			}
		}
	})
}

// Reflection is off unless it is configured, and so is gRPC.
func TestGRPCIsOffByDefault(t *testing.T) {
	t.Parallel()
	if at := start(t, load(t, map[string]string{"store": "memory"})).server.GRPCAddr(); at != nil {
		t.Errorf("gRPC is at %v", at)
	}
	in := start(t, load(t, map[string]string{"store": "memory", "grpc.listen": "127.0.0.1:0"}))
	conn := dialGRPC(t, in.server.GRPCAddr().String(), nil)
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("reflection: %v", err)
	}
	_, card := in.get(t, "/.well-known/agent-card.json")
	if want := `"url":"` + in.server.GRPCAddr().String() + `","protocolBinding":"GRPC"`; !strings.Contains(strings.ReplaceAll(card, `"protocolVersion":"1.0",`, ""), want) {
		t.Errorf("the card is %s, want %s", card, want)
	}
	// Whoever calls by another name comes from a page.
	other, err := grpc.NewClient(in.server.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("evil.example"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := a2apb.NewA2AServiceClient(other).ListTasks(t.Context(), &a2apb.ListTasksRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a call to evil.example: %v", err)
	}
}

// Nobody serves everybody unless that was said.
func TestPublicAddressOfGRPC(t *testing.T) {
	t.Parallel()
	public := map[string]string{"store": "memory", "grpc.listen": "0.0.0.0:0"}
	if _, err := testserver.New(load(t, public)); err == nil || !strings.Contains(err.Error(), "GRPC") || !strings.Contains(err.Error(), "insecure_no_auth") {
		t.Errorf("New() = %v, want what to do", err)
	}
	public["insecure_no_auth"] = "true"
	in := start(t, load(t, public))
	if _, err := a2apb.NewA2AServiceClient(dialGRPC(t, in.server.GRPCAddr().String(), nil)).ListTasks(t.Context(), &a2apb.ListTasksRequest{}); err != nil {
		t.Error(err)
	}
	if len(in.log.find("no authentication on a public address: every client that reaches it may call tools and approve their calls; set auth")) == 0 {
		t.Error("nobody is warned")
	}
}

// A shutdown ends streams so that their clients come back, and does not wait for a client
// that does not read or does not send.
func TestShutdownOfGRPC(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "grpc.listen": "127.0.0.1:0"}))
	conn := dialGRPC(t, in.server.GRPCAddr().String(), nil)
	client := a2apb.NewA2AServiceClient(conn)
	sent, err := client.SendMessage(t.Context(), &a2apb.SendMessageRequest{Message: textMessage("/transfer_money amount=1 to=bob")})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.SubscribeToTask(t.Context(), &a2apb.SubscribeToTaskRequest{Id: sent.GetTask().GetId()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("the health is %v, %v", got, err)
	}
	half, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, a2apb.A2AService_GetTask_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	lineTo(t, in.server.GRPCAddr()) // and says nothing
	if _, err := conn.NewStream(t.Context(), &grpc.StreamDesc{}, "/lf.a2a.v1.A2AService/None"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	in.halt(t)
	if took := time.Since(begun); took > 14*time.Second {
		t.Errorf("the shutdown took %v", took)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "subscribe") {
		t.Errorf("the stream ends with %v", err)
	}
	var got a2apb.Task
	if err := half.RecvMsg(&got); status.Code(err) != codes.Unavailable {
		t.Errorf("a call without a message ends with %v", err)
	}
	for {
		got, err := watch.Recv()
		if err != nil {
			if status.Code(err) != codes.Unavailable {
				t.Errorf("the watch ends with %v", err)
			}
			break
		}
		if got.GetStatus() == healthpb.HealthCheckResponse_SERVING {
			t.Error("it says SERVING while it ends")
		}
	}
}

// A program hands in its own listener.
func TestEmbeddedGRPC(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory"})
	c.NoListen = true
	c.Authenticator = auth.Func(func(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
		return auth.Principal{Tenant: "acme", Subject: strings.Join(c.Header("X-Who"), ""), Roles: []string{auth.RoleRequester}, Method: "test"}, nil
	})
	s, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // of this machine
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.ServeGRPC(l) }()
	client := a2apb.NewA2AServiceClient(dialGRPC(t, l.Addr().String(), nil))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-who", "me")
	if _, err := client.ListTasks(ctx, &a2apb.ListTasksRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("before Run: %v", err)
	}
	stop, _ := run(t, s)
	until(t, "Run serves", func() bool {
		_, err := client.ListTasks(ctx, &a2apb.ListTasksRequest{})
		return err == nil
	})
	if err := errors.Join(stop(), <-served); err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + l.Addr().String()); err == nil { //nolint:noctx,bodyclose // of this machine; there is none
		t.Error("the listener is open")
	}
}

// Connections of both ports count together. Beyond the limit a call is told what to do, and
// a probe is answered, as over HTTP; once there is room, the same client is served.
func TestConnectionsOfGRPC(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"store": "memory", "grpc.listen": "127.0.0.1:0", "limits.connections": "4"}))
	var idle []*line
	for range 8 { // the first four are within the limit
		idle = append(idle, in.dial(t))
	}
	// They are accepted one after the other, and this one after them.
	if status, body, _ := in.dial(t).ask(read); status != http.StatusServiceUnavailable {
		t.Fatalf("a request beyond limits.connections: %d %s", status, body)
	}
	conn := dialGRPC(t, in.server.GRPCAddr().String(), nil)
	list := func() error {
		_, err := a2apb.NewA2AServiceClient(conn).ListTasks(t.Context(), &a2apb.ListTasksRequest{})
		return err
	}
	if got, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("a probe beyond limits.connections: %v, %v", got, err)
	}
	if st := status.Convert(list()); st.Code() != codes.Unavailable || !strings.Contains(st.Message(), "too many open connections") || len(st.Details()) == 0 {
		t.Errorf("a call beyond limits.connections: %v, details %v", st, st.Details())
	}
	for _, c := range idle {
		_ = c.Close()
	}
	until(t, "there is room", func() bool { return list() == nil })
}
