package a2a_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"testing"
	"time"

	old "github.com/a2aproject/a2a-go/a2a"
	oldclient "github.com/a2aproject/a2a-go/a2aclient"
	oldcard "github.com/a2aproject/a2a-go/a2aclient/agentcard"
	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	oldgrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

func collect[E any](t *testing.T, events iter.Seq2[E, error]) []E {
	t.Helper()
	var all []E
	for e, err := range events {
		if err != nil {
			t.Fatalf("after %d events: %v", len(all), err)
		}
		all = append(all, e)
	}
	return all
}

// The SDK for Go of A2A 0.3 (v0.3.15) does everything: it reads the card, is asked, answers,
// and gets the errors that it knows, which have to be of a type that it can decode.
func TestClientOf03(t *testing.T) {
	t.Parallel()
	w := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.Card.URL = "" })
	url := w.listen(t)
	ctx := t.Context()
	card, err := oldcard.NewResolver(http.DefaultClient).Resolve(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if card.URL != url || card.PreferredTransport != old.TransportProtocolJSONRPC || card.ProtocolVersion != "0.3.0" || len(card.AdditionalInterfaces) != 2 || !card.Capabilities.Streaming {
		t.Fatalf("card = %+v", card)
	}
	c, err := oldclient.NewFromCard(ctx, card)
	if err != nil {
		t.Fatal(err)
	}
	say := func(id old.TaskID, text string) *old.MessageSendParams {
		m := old.NewMessage(old.MessageRoleUser, old.TextPart{Text: text})
		if m.TaskID = id; id == "" {
			m.Parts = append(m.Parts, old.DataPart{Data: map[string]any{"a": 1.5}})
		}
		return &old.MessageSendParams{Message: m}
	}
	events := collect(t, c.SendStreamingMessage(ctx, say("", "/transfer amount=5 to=bob")))
	first, ok := events[0].(*old.Task)
	last, _ := events[len(events)-1].(*old.TaskStatusUpdateEvent)
	if !ok || last == nil || !last.Final || last.Status.State != old.TaskStateInputRequired || last.Status.Message == nil || first.ContextID == "" {
		t.Fatalf("events = %+v", events)
	}
	for _, e := range events[:len(events)-1] {
		if u, ok := e.(*old.TaskStatusUpdateEvent); ok && u.Final {
			t.Errorf("final before the end: %+v", u)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if parked := collect(t, c.ResubscribeToTask(bounded, &old.TaskIDParams{ID: first.ID})); len(parked) != 1 {
		t.Errorf("resubscribing to a parked task = %+v, want the task", parked)
	}
	result, err := c.SendMessage(ctx, say(first.ID, "approve"))
	if task, ok := result.(*old.Task); err != nil || !ok || task.Status.State != old.TaskStateCompleted || len(task.Artifacts) != 1 {
		t.Fatalf("approve = %+v, %v", result, err)
	}
	none := 0
	got, err := c.GetTask(ctx, &old.TaskQueryParams{ID: first.ID, HistoryLength: &none})
	if err != nil || len(got.History) != 0 || got.ContextID != first.ContextID {
		t.Errorf("GetTask = %+v, %v", got, err)
	}
	for name, check := range map[string]struct {
		err  error
		want error
	}{
		"missing":    {second(c.GetTask(ctx, &old.TaskQueryParams{ID: "019b7c00-0000-7000-8000-00000000ffff"})), old.ErrTaskNotFound},
		"ended":      {second(c.CancelTask(ctx, &old.TaskIDParams{ID: first.ID})), old.ErrTaskNotCancelable},
		"to the end": {second(c.SendMessage(ctx, say(first.ID, "again"))), old.ErrUnsupportedOperation},
	} {
		if !errors.Is(check.err, check.want) {
			t.Errorf("%s = %v, want %v", name, check.err, check.want)
		}
	}
	stream := func(yield func(old.Event, error) bool) { c.SendStreamingMessage(ctx, say("no-id", "x"))(yield) }
	for _, err := range stream {
		if !errors.Is(err, old.ErrTaskNotFound) {
			t.Errorf("a stream of a missing task = %v", err)
		}
	}
	full := collect(t, c.SendStreamingMessage(ctx, say("", "/stream n=3")))
	if last, _ := full[len(full)-1].(*old.TaskStatusUpdateEvent); last == nil || !last.Final || last.Status.State != old.TaskStateCompleted {
		t.Errorf("the last event = %+v", full[len(full)-1])
	}
}

func second[A any](_ A, err error) error { return err }

// The SDK for Go of A2A 1.0 with its transports for 0.3. It names the version, and expects the
// details of errors as in 1.0.
func TestTransportsOf03(t *testing.T) {
	t.Parallel()
	type transport = func(t *testing.T, w *wireServer) (url string, option a2aclient.FactoryOption)
	for binding, transport := range map[sdk.TransportProtocol]transport{
		sdk.TransportProtocolJSONRPC: func(t *testing.T, w *wireServer) (string, a2aclient.FactoryOption) {
			factory := a2av0.NewJSONRPCTransportFactory(a2av0.JSONRPCTransportConfig{})
			return w.listen(t), a2aclient.WithCompatTransport("0.3", sdk.TransportProtocolJSONRPC, factory)
		},
		sdk.TransportProtocolHTTPJSON: func(t *testing.T, w *wireServer) (string, a2aclient.FactoryOption) {
			url := w.listen(t)
			return url, a2aclient.WithCompatTransport("0.3", sdk.TransportProtocolHTTPJSON, a2aclient.TransportFactoryFn(func(context.Context, *sdk.AgentCard, *sdk.AgentInterface) (a2aclient.Transport, error) {
				return a2av0.NewRESTTransport(a2av0.RESTTransportConfig{URL: url})
			}))
		},
		sdk.TransportProtocolGRPC: func(t *testing.T, w *wireServer) (string, a2aclient.FactoryOption) {
			_, at := serveGRPC(t, w.handler, a2a.GRPCConfig{})
			return at, oldgrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials()))
		},
	} {
		t.Run(string(binding), func(t *testing.T) {
			t.Parallel()
			url, option := transport(t, startWireServer(t, zerolog.Nop()))
			ctx := t.Context()
			c, err := a2aclient.NewFromEndpoints(ctx, []*sdk.AgentInterface{{URL: url, ProtocolBinding: binding, ProtocolVersion: "0.3"}}, option)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Destroy() })
			say := func(id sdk.TaskID, text string) *sdk.SendMessageRequest {
				m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(text))
				if m.TaskID = id; id == "" {
					m.Parts = append(m.Parts, &sdk.Part{Content: sdk.Raw("\xff\x00raw"), Filename: "f", MediaType: "text/plain"}, sdk.NewDataPart(map[string]any{"a": 1.5}))
				}
				return &sdk.SendMessageRequest{Message: m}
			}
			events := collect(t, c.SendStreamingMessage(ctx, say("", "/transfer amount=5 to=bob")))
			last, _ := events[len(events)-1].(*sdk.TaskStatusUpdateEvent)
			if last == nil || last.Status.State != sdk.TaskStateInputRequired || last.ContextID == "" {
				t.Fatalf("events = %+v", events)
			}
			result, err := c.SendMessage(ctx, say(last.TaskID, "approve"))
			done, ok := result.(*sdk.Task)
			if err != nil || !ok || done.Status.State != sdk.TaskStateCompleted || len(done.History) < 2 || len(done.Artifacts) != 1 {
				t.Fatalf("approve = %+v, %v", result, err)
			}
			parts := done.History[0].Parts
			if raw, _ := parts[1].Content.(sdk.Raw); len(parts) != 3 || string(raw) != "\xff\x00raw" || parts[1].Filename != "f" {
				t.Errorf("the message comes back as %+v", parts)
			}
			if err := second(c.GetTask(ctx, &sdk.GetTaskRequest{ID: "019b7c00-0000-7000-8000-00000000ffff"})); !errors.Is(err, sdk.ErrTaskNotFound) {
				t.Errorf("a missing task = %v", err)
			}
			if err := second(c.CancelTask(ctx, &sdk.CancelTaskRequest{ID: last.TaskID})); !errors.Is(err, sdk.ErrTaskNotCancelable) {
				t.Errorf("cancel of an ended task = %v", err)
			}
			if err := second(c.GetTaskPushConfig(ctx, &sdk.GetTaskPushConfigRequest{TaskID: last.TaskID, ID: "x"})); !errors.Is(err, sdk.ErrPushNotificationNotSupported) {
				t.Errorf("a webhook = %v", err)
			}
			if binding != sdk.TransportProtocolGRPC {
				return
			}
			zero := 0
			if got, err := c.GetTask(ctx, &sdk.GetTaskRequest{ID: last.TaskID, HistoryLength: &zero}); err != nil || len(got.History) == 0 {
				t.Errorf("GetTask() = %+v, %v; 0 is no limit in protobuf", got, err)
			}
			if list, err := c.ListTasks(ctx, &sdk.ListTasksRequest{}); err != nil || len(list.Tasks) != 1 {
				t.Errorf("ListTasks() = %+v, %v", list, err)
			}
		})
	}
}
