package interop

import (
	"context"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

func playHistory(ctx context.Context, t *testing.T, w world) {
	parked, q := park(ctx, t, w.client, 3, "history")
	task := send(ctx, t, w.client, answer(parked, decision(q.ID, "reject", nil)))
	var all []string
	for _, m := range task.History {
		all = append(all, m.ID)
	}
	if len(all) < 3 { // the call, the question, the decision
		t.Fatalf("history of %d messages, want 3 or more", len(all))
	}
	for _, n := range []int{0, 1, 2, 100} {
		got, err := w.get(ctx, &a2a.GetTaskRequest{ID: task.ID, HistoryLength: &n})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range got.History {
			ids = append(ids, m.ID)
		}
		want := all[max(0, len(all)-n):]
		switch {
		case n > 0:
		case w.version == a2a.Version || w.binding != a2a.TransportProtocolGRPC:
			want = nil
		default: // there 0 is no limit
			want = all
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("the newest %d messages (-want +got):\n%s", n, diff)
		}
	}
}

func playList(ctx context.Context, t *testing.T, w world) {
	// A context of the client's own keeps its tasks apart from all others.
	in := func(m *a2a.Message) *a2a.Message {
		m.ContextID = "list-" + t.Name()
		return m
	}
	done := send(ctx, t, w.client, in(text("/echo listed")))
	parked := send(ctx, t, w.client, in(call("transfer_money", map[string]any{"amount": 2, "to": "list"})))
	ended := send(ctx, t, w.client, in(call("transfer_money", map[string]any{"amount": 2, "to": "list"})))
	if _, err := w.cancel(ctx, &a2a.CancelTaskRequest{ID: ended.ID}); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(24 * time.Hour)
	for _, tc := range []struct {
		name string
		req  a2a.ListTasksRequest
		want []a2a.TaskID
	}{
		{"newest first, in pages of one", a2a.ListTasksRequest{PageSize: 1}, []a2a.TaskID{ended.ID, parked.ID, done.ID}},
		{"one page", a2a.ListTasksRequest{PageSize: 100}, []a2a.TaskID{ended.ID, parked.ID, done.ID}},
		{"completed", a2a.ListTasksRequest{PageSize: 10, Status: a2a.TaskStateCompleted}, []a2a.TaskID{done.ID}},
		{"waiting", a2a.ListTasksRequest{PageSize: 10, Status: a2a.TaskStateInputRequired}, []a2a.TaskID{parked.ID}},
		{"canceled", a2a.ListTasksRequest{PageSize: 10, Status: a2a.TaskStateCanceled}, []a2a.TaskID{ended.ID}},
		{"failed", a2a.ListTasksRequest{PageSize: 10, Status: a2a.TaskStateFailed}, nil},
		{"changed after tomorrow", a2a.ListTasksRequest{PageSize: 10, StatusTimestampAfter: &future}, nil},
		{"with artifacts", a2a.ListTasksRequest{PageSize: 10, Status: a2a.TaskStateCompleted, IncludeArtifacts: true}, []a2a.TaskID{done.ID}},
	} {
		tc.req.ContextID = done.ContextID
		var ids []a2a.TaskID
		for range 5 { // a token that leads nowhere must not keep us here
			page, err := w.list(ctx, &tc.req)
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			for _, task := range page.Tasks {
				ids = append(ids, task.ID)
				if has := len(task.Artifacts) > 0; has != tc.req.IncludeArtifacts {
					t.Errorf("%s: artifacts in the list: %t", tc.name, has)
				}
			}
			// The client for Go loses it in 0.3.
			if w.version == a2a.Version && page.TotalSize != len(tc.want) {
				t.Errorf("%s: %d tasks in all, want %d", tc.name, page.TotalSize, len(tc.want))
			}
			if tc.req.PageToken = page.NextPageToken; tc.req.PageToken == "" {
				break
			}
		}
		if diff := cmp.Diff(tc.want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	_, err := w.list(ctx, &a2a.ListTasksRequest{PageSize: 101})
	checkRefused(t, err, "INVALID_PARAMS", "")
}
