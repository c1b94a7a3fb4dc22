package rules

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/internal/golden"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/view"
	"a2a-server/tool"
)

type plainPresenter struct{ task.Presenter }

func (plainPresenter) Metadata() json.RawMessage { return json.RawMessage(`{"p":true}`) }

// A report of progress reads as the file of its first writing, and adds its metadata to
// that of the status, until the next one. What was folded when it was published is what is
// read.
func TestGoldenProgress(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 123e6, time.UTC)
	r := &Rules{Presenter: plainPresenter{}}
	f := fold.New(store.TaskID{1}, "c")
	f.View.IDs().Task, f.View.IDs().TaskJSON = "t", []byte(`"t"`)
	f.View.SetStatus(a2a.TaskStateWorking, store.MillisOf(at), json.RawMessage(`{"messageId":"m"}`), nil /* masked */, json.RawMessage(`{"own":1,"p":true}`))
	f.Header.State = task.StateWorking
	k, err := r.Progress(f.Publisher(r.Presenter, 1<<20), at.Add(time.Minute), "c1.1", "run", "" /* job */, tool.Progress{Done: 1.5, Total: 3, Message: "half"})
	if err != nil {
		t.Fatal(err)
	}
	if k.Event.Kind != "progress" || !k.Event.Public || k.Event.Bulk {
		t.Errorf("event = %+v", k.Event)
	}
	var sdk a2a.StreamResponse
	if err := json.Unmarshal(k.Event.Data, &sdk); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(sdk); err != nil || string(again) != string(k.Event.Data) {
		t.Errorf("the SDK writes it as %s, %v; it is %s", again, err, k.Event.Data)
	}
	data := []byte(golden.File(t, filepath.Join("testdata", "progress.json"), string(k.Event.Data)))
	read := *f.View
	if err := read.Apply(k.Event.Kind, data); err != nil {
		t.Fatal(err)
	}
	f.Publish(f.Publishable([]output.RunEvent{k}))
	const want = `{"id":"t","contextId":"c","metadata":{"own":1,"p":true,"urn:a2a-server:progress":{"callId":"c1.1","done":1.5,"message":"half","tool":"run","total":3}},` +
		`"status":{"message":{"messageId":"m"},"state":"TASK_STATE_WORKING","timestamp":"2026-11-21T10:00:00.123Z"}}`
	for what, v := range map[string]*view.View{"published": f.View, "read": &read} {
		if diff := cmp.Diff(want, string(v.AppendTask(nil, view.Options{HistoryLength: -1}))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	f.View.SetStatus(a2a.TaskStateCompleted, store.MillisOf(at), nil /* message */, nil /* masked */, json.RawMessage(`{"p":true}`))
	if shown := string(f.View.AppendTask(nil, view.Options{})); !strings.Contains(shown, `"metadata":{"p":true},`) {
		t.Errorf("the task with the next status is %s", shown)
	}
	f.Header.State = task.StateCompleted
	if left := f.Publishable([]output.RunEvent{k}); len(left) > 0 {
		t.Error("a task that has ended publishes progress")
	}
}
