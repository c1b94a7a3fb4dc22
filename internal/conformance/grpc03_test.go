package conformance

import (
	"context"
	"errors"

	pb "github.com/a2aproject/a2a-go/a2apb"
)

// grpc03 is gRPC in A2A 0.3 (specification 0.3.0, §3.2.2).
type grpc03 struct {
	spoken
	api    pb.A2AServiceClient
	public wire // where the card is
}

func connectGRPC03(w *world, by caller) client {
	return &grpc03{spoken{w.conn, by, "x-a2a-extensions"}, pb.NewA2AServiceClient(w.conn), wire{w.url, w.http, by, "X-A2A-Extensions"}}
}

func (c *grpc03) card(ctx context.Context) (*card, error) { return wellKnown03(ctx, &c.public) }

func (c *grpc03) send(ctx context.Context, s sending) (*sent, error) {
	out, err := asking(ctx, &c.spoken, c.api.SendMessage, toSendPB03(s))
	switch {
	case err != nil:
		return nil, err
	case out.GetTask() != nil:
		t, err := fromTaskPB03(out.GetTask())
		return &sent{Task: t}, err
	case out.GetMsg() != nil:
		m, err := fromMessagePB03(out.GetMsg())
		return &sent{Message: m}, err
	}
	return nil, errors.New("SendMessage answers with neither a task nor a message")
}

func (c *grpc03) stream(ctx context.Context, s sending) *stream {
	return following(ctx, &c.spoken, c.api.SendStreamingMessage, toSendPB03(s), fromEventPB03)
}

func (c *grpc03) get(ctx context.Context, id string, history *int) (*task, error) {
	req := &pb.GetTaskRequest{Name: "tasks/" + id}
	if history != nil {
		req.HistoryLength = int32(*history) //nolint:gosec // the cases' own numbers
	}
	out, err := asking(ctx, &c.spoken, c.api.GetTask, req)
	if err != nil {
		return nil, err
	}
	return fromTaskPB03(out)
}

func (c *grpc03) list(ctx context.Context, l listing) (*page, error) {
	req, err := toListPB03(l)
	if err != nil {
		return nil, err
	}
	out, err := asking(ctx, &c.spoken, c.api.ListTasks, req)
	if err != nil {
		return nil, err
	}
	p := &page{Total: int(out.GetTotalSize()), More: out.GetNextPageToken() != "", next: out.GetNextPageToken()}
	for _, t := range out.GetTasks() {
		one, err := fromTaskPB03(t)
		if err != nil {
			return nil, err
		}
		p.Tasks = append(p.Tasks, *one)
	}
	return p, unheard(out)
}

func (c *grpc03) cancel(ctx context.Context, id string, _ map[string]any) (*task, error) {
	out, err := asking(ctx, &c.spoken, c.api.CancelTask, &pb.CancelTaskRequest{Name: "tasks/" + id})
	if err != nil {
		return nil, err
	}
	return fromTaskPB03(out)
}

func (c *grpc03) subscribe(ctx context.Context, id, _ string) *stream {
	return following(ctx, &c.spoken, c.api.TaskSubscription, &pb.TaskSubscriptionRequest{Name: "tasks/" + id}, fromEventPB03)
}

func (c *grpc03) setPush(ctx context.Context, p pushConfig) (*pushConfig, error) {
	out, err := asking(ctx, &c.spoken, c.api.CreateTaskPushNotificationConfig, &pb.CreateTaskPushNotificationConfigRequest{
		Parent: "tasks/" + p.Task, ConfigId: p.ID, Config: &pb.TaskPushNotificationConfig{PushNotificationConfig: toPushPB03(p)},
	})
	if err != nil {
		return nil, err
	}
	return fromPushPB03(out)
}

func (c *grpc03) getPush(ctx context.Context, task, id string) (*pushConfig, error) {
	out, err := asking(ctx, &c.spoken, c.api.GetTaskPushNotificationConfig, &pb.GetTaskPushNotificationConfigRequest{Name: "tasks/" + task + "/pushNotificationConfigs/" + id})
	if err != nil {
		return nil, err
	}
	return fromPushPB03(out)
}

func (c *grpc03) listPush(ctx context.Context, task string) ([]pushConfig, error) {
	out, err := asking(ctx, &c.spoken, c.api.ListTaskPushNotificationConfig, &pb.ListTaskPushNotificationConfigRequest{Parent: "tasks/" + task})
	if err != nil {
		return nil, err
	}
	var all []pushConfig
	for _, p := range out.GetConfigs() {
		one, err := fromPushPB03(p)
		if err != nil {
			return nil, err
		}
		all = append(all, *one)
	}
	return all, unheard(out)
}

func (c *grpc03) deletePush(ctx context.Context, task, id string) error {
	_, err := asking(ctx, &c.spoken, c.api.DeleteTaskPushNotificationConfig, &pb.DeleteTaskPushNotificationConfigRequest{Name: "tasks/" + task + "/pushNotificationConfigs/" + id})
	return err
}

func (c *grpc03) extendedCard(ctx context.Context) (*card, error) {
	out, err := asking(ctx, &c.spoken, c.api.GetAgentCard, &pb.GetAgentCardRequest{})
	if err != nil {
		return nil, err
	}
	return fromCardPB03(out)
}

func (c *grpc03) garbled(ctx context.Context, how garble) error {
	return c.garbledCall(ctx, "a2a.v1.A2AService", how)
}
