package conformance

import (
	"context"
	"errors"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// grpc10 is gRPC in A2A 1.0 (§10).
type grpc10 struct {
	spoken
	api    pb.A2AServiceClient
	public wire // where the card is
}

func connectGRPC10(w *world, by caller) client {
	return &grpc10{spoken{w.conn, by, "a2a-extensions"}, pb.NewA2AServiceClient(w.conn), wire{w.url, w.http, by, "A2A-Extensions"}}
}

func (c *grpc10) card(ctx context.Context) (*card, error) { return wellKnown10(ctx, &c.public) }

func (c *grpc10) send(ctx context.Context, s sending) (*sent, error) {
	out, err := asking(ctx, &c.spoken, c.api.SendMessage, toSendPB10(s))
	switch {
	case err != nil:
		return nil, err
	case out.GetTask() != nil:
		t, err := fromTaskPB10(out.GetTask())
		return &sent{Task: t}, err
	case out.GetMessage() != nil:
		m, err := fromMessagePB10(out.GetMessage())
		return &sent{Message: m}, err
	}
	return nil, errors.New("SendMessage answers with neither a task nor a message")
}

func (c *grpc10) stream(ctx context.Context, s sending) *stream {
	return following(ctx, &c.spoken, c.api.SendStreamingMessage, toSendPB10(s), fromEventPB10)
}

func (c *grpc10) get(ctx context.Context, id string, history *int) (*task, error) {
	req := &pb.GetTaskRequest{Id: id}
	if history != nil {
		req.HistoryLength = ptr(int32(*history)) //nolint:gosec // the cases' own numbers
	}
	out, err := asking(ctx, &c.spoken, c.api.GetTask, req)
	if err != nil {
		return nil, err
	}
	return fromTaskPB10(out)
}

func (c *grpc10) list(ctx context.Context, l listing) (*page, error) {
	req, err := toListPB10(l)
	if err != nil {
		return nil, err
	}
	out, err := asking(ctx, &c.spoken, c.api.ListTasks, req)
	if err != nil {
		return nil, err
	}
	p := &page{Size: int(out.GetPageSize()), Total: int(out.GetTotalSize()), More: out.GetNextPageToken() != "", next: out.GetNextPageToken()}
	for _, t := range out.GetTasks() {
		one, err := fromTaskPB10(t)
		if err != nil {
			return nil, err
		}
		p.Tasks = append(p.Tasks, *one)
	}
	return p, unheard(out)
}

func (c *grpc10) cancel(ctx context.Context, id string, metadata map[string]any) (*task, error) {
	out, err := asking(ctx, &c.spoken, c.api.CancelTask, &pb.CancelTaskRequest{Id: id, Metadata: structOf(metadata)})
	if err != nil {
		return nil, err
	}
	return fromTaskPB10(out)
}

func (c *grpc10) subscribe(ctx context.Context, id, _ string) *stream {
	return following(ctx, &c.spoken, c.api.SubscribeToTask, &pb.SubscribeToTaskRequest{Id: id}, fromEventPB10)
}

func (c *grpc10) setPush(ctx context.Context, p pushConfig) (*pushConfig, error) {
	out, err := asking(ctx, &c.spoken, c.api.CreateTaskPushNotificationConfig, toPushPB10(p))
	if err != nil {
		return nil, err
	}
	return fromPushPB10(out)
}

func (c *grpc10) getPush(ctx context.Context, task, id string) (*pushConfig, error) {
	out, err := asking(ctx, &c.spoken, c.api.GetTaskPushNotificationConfig, &pb.GetTaskPushNotificationConfigRequest{TaskId: task, Id: id})
	if err != nil {
		return nil, err
	}
	return fromPushPB10(out)
}

func (c *grpc10) listPush(ctx context.Context, task string) ([]pushConfig, error) {
	out, err := asking(ctx, &c.spoken, c.api.ListTaskPushNotificationConfigs, &pb.ListTaskPushNotificationConfigsRequest{TaskId: task})
	if err != nil {
		return nil, err
	}
	var all []pushConfig
	for _, p := range out.GetConfigs() {
		one, err := fromPushPB10(p)
		if err != nil {
			return nil, err
		}
		all = append(all, *one)
	}
	return all, unheard(out)
}

func (c *grpc10) deletePush(ctx context.Context, task, id string) error {
	_, err := asking(ctx, &c.spoken, c.api.DeleteTaskPushNotificationConfig, &pb.DeleteTaskPushNotificationConfigRequest{TaskId: task, Id: id})
	return err
}

func (c *grpc10) extendedCard(ctx context.Context) (*card, error) {
	out, err := asking(ctx, &c.spoken, c.api.GetExtendedAgentCard, &pb.GetExtendedAgentCardRequest{})
	if err != nil {
		return nil, err
	}
	return fromCardPB10(out)
}

func (c *grpc10) garbled(ctx context.Context, how garble) error {
	return c.garbledCall(ctx, "lf.a2a.v1.A2AService", how)
}
