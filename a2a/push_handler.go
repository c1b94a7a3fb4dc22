package a2a

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// CreateTaskPushConfig implements [a2asrv.RequestHandler]. Like all push notification methods
// of a server without [Push] it returns an error that wraps the SDK's
// ErrPushNotificationNotSupported. What it returns has no token and no credentials, as with
// the other methods.
func (h *handler) CreateTaskPushConfig(ctx context.Context, req *sdk.PushConfig) (*sdk.PushConfig, error) {
	by, err := h.caller(ctx, "CreateTaskPushNotificationConfig", req)
	if err != nil {
		return nil, err
	}
	out, err := h.s.ops.createPush(ctx, call{by: by}, req)
	return out.config, h.fail(ctx, err, "CreateTaskPushNotificationConfig")
}

// GetTaskPushConfig implements [a2asrv.RequestHandler].
func (h *handler) GetTaskPushConfig(ctx context.Context, req *sdk.GetTaskPushConfigRequest) (*sdk.PushConfig, error) {
	by, err := h.caller(ctx, "GetTaskPushNotificationConfig", req)
	if err != nil {
		return nil, err
	}
	out, err := h.s.ops.getPush(ctx, call{by: by}, req)
	return out.config, h.fail(ctx, err, "GetTaskPushNotificationConfig")
}

// ListTaskPushConfigs implements [a2asrv.RequestHandler].
func (h *handler) ListTaskPushConfigs(ctx context.Context, req *sdk.ListTaskPushConfigRequest) (*sdk.ListTaskPushConfigResponse, error) {
	by, err := h.caller(ctx, "ListTaskPushNotificationConfigs", req)
	if err != nil {
		return nil, err
	}
	out, err := h.s.ops.listPush(ctx, call{by: by}, req)
	if err != nil {
		return nil, h.fail(ctx, err, "ListTaskPushNotificationConfigs")
	}
	return &sdk.ListTaskPushConfigResponse{Configs: out.configs, NextPageToken: out.next}, nil
}

// DeleteTaskPushConfig implements [a2asrv.RequestHandler].
func (h *handler) DeleteTaskPushConfig(ctx context.Context, req *sdk.DeleteTaskPushConfigRequest) error {
	by, err := h.caller(ctx, "DeleteTaskPushNotificationConfig", req)
	if err != nil {
		return err
	}
	_, err = h.s.ops.deletePush(ctx, call{by: by}, req)
	return h.fail(ctx, err, "DeleteTaskPushNotificationConfig")
}
