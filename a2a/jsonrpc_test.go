package a2a_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/internal/testlog"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type money struct {
	Amount float64 `json:"amount"`
	To     string  `json:"to"`
}

type chunks struct {
	N int `json:"n"`
}

// serve starts a server on a port of its own and returns its URL.
func serve(t *testing.T) string { return start(t, nil).URL }

// start is serve for a server that is configured otherwise. Each URL of its card is
// its own.
func start(t *testing.T, configure func(*a2a.Config), servers ...func(*http.Server)) *httptest.Server {
	t.Helper()
	balance := functiontool.Must(functiontool.New(functiontool.Config{Name: "balance", Description: "says what is there", Annotations: tool.Annotations{ReadOnly: true}},
		func(tool.Context, wireNothing) (map[string]any, error) {
			return map[string]any{"of": "<bob>", "amount": 5}, nil
		}))
	srv := httptest.NewUnstartedServer(nil)
	srv.Config.Handler = startWireServer(t, zerolog.New(testlog.New(t)), usual, func(e *engine.Config, c *a2a.Config) {
		e.Tools = tool.NewRegistry(tool.NewToolset("test", append(wireTools(e.Store), balance)...))
		c.MaxBody, c.Card.URL = 64<<10, "http://"+srv.Listener.Addr().String()
		if configure != nil {
			configure(c)
		}
	}).handler
	for _, f := range servers {
		f(srv.Config)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

func client(t *testing.T, url string, binding sdk.TransportProtocol) *a2aclient.Client {
	t.Helper()
	c, err := a2aclient.NewFromEndpoints(t.Context(), []*sdk.AgentInterface{sdk.NewAgentInterface(url, binding)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everywhere runs a test over each of our bindings, and over the SDK's own
// transport in front of our request handler.
func everywhere(t *testing.T, f func(t *testing.T, c *a2aclient.Client)) {
	t.Helper()
	t.Run("JSON-RPC", func(t *testing.T) {
		t.Parallel()
		f(t, client(t, serve(t), sdk.TransportProtocolJSONRPC))
	})
	t.Run("HTTP+JSON", func(t *testing.T) {
		t.Parallel()
		f(t, client(t, serve(t), sdk.TransportProtocolHTTPJSON))
	})
	t.Run("gRPC", func(t *testing.T) {
		t.Parallel()
		srv := start(t, nil)
		s, ok := srv.Config.Handler.(*a2a.Server)
		if !ok {
			t.Fatalf("the handler is a %T", srv.Config.Handler)
		}
		_, at := serveGRPC(t, s, a2a.GRPCConfig{})
		f(t, grpcClient(t, at))
	})
}

func call(name string, args map[string]any) *sdk.Message {
	return sdk.NewMessage(sdk.MessageRoleUser, sdk.NewDataPart(map[string]any{"tool": name, "args": args}))
}

// The official Go client: pause, decision, result, by id and by stream.
func TestOfficialClient(t *testing.T) {
	t.Parallel()
	everywhere(t, officialClient)
}

func officialClient(t *testing.T, c *a2aclient.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := c.SendMessage(ctx, &sdk.SendMessageRequest{Message: call("transfer", map[string]any{"amount": 5, "to": "bob"})})
	if err != nil {
		t.Fatal(err)
	}
	parked, ok := result.(*sdk.Task)
	if !ok || parked.Status.State != sdk.TaskStateInputRequired {
		t.Fatalf("SendMessage() = %+v, want a task that waits for input", result)
	}
	// Somebody follows while it is parked, and sees the rest.
	seen := make(chan []string, 1)
	subscribed := make(chan struct{})
	go func() {
		var states []string
		for e, err := range c.SubscribeToTask(ctx, &sdk.SubscribeToTaskRequest{ID: parked.ID}) {
			if err != nil {
				states = append(states, err.Error())
				break
			}
			switch e := e.(type) {
			case *sdk.Task:
				states = append(states, "task "+string(e.Status.State))
				close(subscribed)
			case *sdk.TaskStatusUpdateEvent:
				states = append(states, string(e.Status.State))
			case *sdk.TaskArtifactUpdateEvent:
				states = append(states, "artifact")
			}
		}
		seen <- states
	}()
	<-subscribed
	yes := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("yes"))
	yes.TaskID = parked.ID
	if result, err = c.SendMessage(ctx, &sdk.SendMessageRequest{Message: yes}); err != nil {
		t.Fatal(err)
	}
	if done, ok := result.(*sdk.Task); !ok || done.Status.State != sdk.TaskStateCompleted || len(done.Artifacts) != 1 {
		t.Fatalf("SendMessage() = %+v, want a completed task", result)
	}
	want := "task TASK_STATE_INPUT_REQUIRED TASK_STATE_WORKING artifact TASK_STATE_COMPLETED"
	if got := strings.Join(<-seen, " "); got != want {
		t.Errorf("the subscriber saw %q, want %q", got, want)
	}
	if _, err := c.SendMessage(ctx, &sdk.SendMessageRequest{Message: yes}); err != nil {
		t.Errorf("the same message again = %v, want the same answer", err)
	}
	got, err := c.GetTask(ctx, &sdk.GetTaskRequest{ID: parked.ID})
	if err != nil || got.Status.State != sdk.TaskStateCompleted {
		t.Errorf("GetTask() = %+v, %v", got, err)
	}
	if _, err := c.CancelTask(ctx, &sdk.CancelTaskRequest{ID: parked.ID}); !errors.Is(err, sdk.ErrTaskNotCancelable) {
		t.Errorf("CancelTask() of a completed task = %v, want %v", err, sdk.ErrTaskNotCancelable)
	}
	no := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("more"))
	no.TaskID = parked.ID
	if _, err := c.SendMessage(ctx, &sdk.SendMessageRequest{Message: no}); !errors.Is(err, sdk.ErrUnsupportedOperation) {
		t.Errorf("a message to a task that has ended = %v, want %v", err, sdk.ErrUnsupportedOperation)
	}
	if _, err := c.GetTask(ctx, &sdk.GetTaskRequest{ID: "nothing"}); !errors.Is(err, sdk.ErrTaskNotFound) {
		t.Errorf("GetTask() of nothing = %v, want %v", err, sdk.ErrTaskNotFound)
	}
	if _, err := c.SendMessage(ctx, &sdk.SendMessageRequest{Message: sdk.NewMessage(sdk.MessageRoleUser)}); !errors.Is(err, sdk.ErrInvalidParams) {
		t.Errorf("a message without parts = %v, want %v", err, sdk.ErrInvalidParams)
	}
	for _, err := range c.SubscribeToTask(ctx, &sdk.SubscribeToTaskRequest{ID: parked.ID}) {
		if !errors.Is(err, sdk.ErrUnsupportedOperation) {
			t.Errorf("SubscribeToTask() of a task that has ended = %v, want %v", err, sdk.ErrUnsupportedOperation)
		}
	}
	if _, err := c.ListTaskPushConfigs(ctx, &sdk.ListTaskPushConfigRequest{TaskID: parked.ID}); !errors.Is(err, sdk.ErrPushNotificationNotSupported) {
		t.Errorf("ListTaskPushConfigs() = %v, want %v", err, sdk.ErrPushNotificationNotSupported)
	}
	events := 0
	for e, err := range c.SendStreamingMessage(ctx, &sdk.SendMessageRequest{Message: call("stream", map[string]any{"n": 200})}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.(*sdk.TaskArtifactUpdateEvent); ok {
			events++
		}
	}
	if events < 200 {
		t.Errorf("streamed %d chunks, want 200", events)
	}
}

// At level debug the log has a line for each request, and at no other.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	for level, want := range map[zerolog.Level]string{zerolog.DebugLevel: `"method":"GET","path":"/tasks/x","status":404`, zerolog.InfoLevel: ""} {
		var log bytes.Buffer
		srv := start(t, func(c *a2a.Config) { c.Log = zerolog.New(&log).Level(level) })
		resp, err := http.Get(srv.URL + "/tasks/x")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		srv.Close() // waits for the handler, which logs last
		if got := log.String(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("at level %s the log is %q, want %q in it", level, got, want)
		}
	}
}

func frames(t *testing.T, body string) (ids, data []string) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 10<<20)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			ids = append(ids, id)
		}
		if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, d)
		}
	}
	return ids, data
}
