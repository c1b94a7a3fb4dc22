package interop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// hooks are a client's own methods for the webhooks of a task.
type hooks interface {
	setHook(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error)
	getHook(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error)
	listHooks(context.Context, *a2a.ListTaskPushConfigRequest) ([]*a2a.PushConfig, error)
	deleteHook(context.Context, *a2a.DeleteTaskPushConfigRequest) error
}

// noHooks is a client that has none.
type noHooks struct{}

var errNoHooks = errors.New("the client knows nothing of webhooks")

func (noHooks) setHook(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, errNoHooks
}

func (noHooks) getHook(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, errNoHooks
}

func (noHooks) listHooks(context.Context, *a2a.ListTaskPushConfigRequest) ([]*a2a.PushConfig, error) {
	return nil, errNoHooks
}

func (noHooks) deleteHook(context.Context, *a2a.DeleteTaskPushConfigRequest) error { return errNoHooks }

// playSetWebhook sets webhooks of a task that waits. What is set is notified, with its
// credentials, and can be read, without them.
func playSetWebhook(ctx context.Context, t *testing.T, w world) {
	hook := startWebhook(t)
	task, _ := park(ctx, t, w.client, 1, "webhooks")
	for _, id := range []string{"one", "two"} {
		set := &a2a.PushConfig{
			TaskID: task.ID, ID: id, URL: hook.url + "/" + id, Token: "token of " + id, Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "credentials-of-" + id},
		}
		made, err := w.setHook(ctx, set)
		if err != nil {
			t.Fatal(err)
		}
		checkHook(t, made, task.ID, id, set.URL)
	}
	got, err := w.getHook(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "two"})
	if err != nil {
		t.Fatal(err)
	}
	checkHook(t, got, task.ID, "two", hook.url+"/two")
	if _, err := w.cancel(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		t.Fatal(err)
	}
	state := "TASK_STATE_CANCELED"
	if w.version != a2a.Version {
		state = "canceled"
	}
	for _, id := range []string{"one", "two"} {
		for _, n := range hook.untilState(t, "/"+id, state) {
			if n.token != "token of "+id || n.authorization != "Bearer credentials-of-"+id {
				t.Errorf("the webhook %s gets %+v", id, n)
			}
		}
	}
	_, err = w.setHook(ctx, &a2a.PushConfig{TaskID: "01890a5d-ac96-774b-bcce-b302099a8057", ID: "x", URL: hook.url})
	checkRefused(t, err, "TASK_NOT_FOUND", "")
	_, err = w.getHook(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "three"})
	checkRefused(t, err, "TASK_NOT_FOUND", "")
}

func checkHook(t *testing.T, c *a2a.PushConfig, task a2a.TaskID, id, url string) {
	t.Helper()
	if c.TaskID != task || c.ID != id || c.URL != url || c.Token != "" || c.Auth != nil && c.Auth.Credentials != "" {
		t.Errorf("webhook = %+v, want %s of task %s at %s, without its secrets", c, id, task, url)
	}
}

// playListWebhooks lists the webhooks of a task.
func playListWebhooks(ctx context.Context, t *testing.T, w world) {
	task, _ := park(ctx, t, w.client, 1, "webhooks")
	for _, id := range []string{"one", "two"} {
		if _, err := w.setHook(ctx, &a2a.PushConfig{TaskID: task.ID, ID: id, URL: "https://receiver.example/" + id}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := w.listHooks(ctx, &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b *a2a.PushConfig) int { return strings.Compare(a.ID, b.ID) })
	if len(all) != 2 {
		t.Fatalf("webhooks = %+v, want two", all)
	}
	for i, id := range []string{"one", "two"} {
		checkHook(t, all[i], task.ID, id, "https://receiver.example/"+id)
	}
}

// playDeleteWebhook deletes a webhook, which is then not there, and not notified.
func playDeleteWebhook(ctx context.Context, t *testing.T, w world) {
	hook := startWebhook(t)
	task, _ := park(ctx, t, w.client, 1, "webhooks")
	for _, id := range []string{"one", "two"} {
		if _, err := w.setHook(ctx, &a2a.PushConfig{TaskID: task.ID, ID: id, URL: hook.url + "/" + id}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time, it is gone already
		if err := w.deleteHook(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "one"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.getHook(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "one"})
	checkRefused(t, err, "TASK_NOT_FOUND", "")
	if _, err := w.cancel(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		t.Fatal(err)
	}
	state := "TASK_STATE_CANCELED"
	if w.version != a2a.Version {
		state = "canceled"
	}
	hook.untilState(t, "/two", state)
	hook.mu.Lock()
	defer hook.mu.Unlock()
	if n := hook.got["/one"]; len(n) != 0 {
		t.Errorf("the webhook that was deleted gets %+v", n)
	}
}
