package engine_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/tool"
)

// A result that a person supplies may have spaces and any characters: its task is read and
// decided about after it, also by the next server.
func TestResponseInAnyForm(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]string{
		"a space": `{"paid": true}`,
		"HTML":    `{"paid":"x<y>&z"}`,
		"U+2028":  "{\"paid\":\"x\u2028y\"}",
		"lines":   "{\r\n\t\"paid\":true\n}",
	} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			w.startTools(newKeeper("pay", func(tool.Context, int) (map[string]any, error) { return nil, errSilence }))
			id := w.begun(alice, w.calls("pay", args{"n": 1}, "pay", args{"n": 2}))
			asked := w.waiting(id)
			if len(asked) != 2 {
				t.Fatalf("%d approvals are pending, want 2", len(asked))
			}
			respond := func(i int) {
				t.Helper()
				w.must(w.engine.Approvals().Decide(w.ctx(), bob, approval.Decision{ID: asked[i].ID, Type: approval.Respond, Response: json.RawMessage(response)}))
				synctest.Wait()
			}
			respond(0)
			w.wantState(w.get(id), a2a.TaskStateInputRequired)
			w.restart()
			w.wantState(w.get(id), a2a.TaskStateInputRequired)
			respond(1)
			w.ended(id)
			w.restart()
			got := w.get(id)
			w.wantState(got, a2a.TaskStateCompleted)
			for _, call := range []string{"c1.1", "c1.2"} {
				data, err := json.Marshal(artifact(got, call).Parts[0].Data())
				if err != nil || !sameJSON(data, []byte(response)) {
					t.Errorf("the result of %s is %s, %v, want %s", call, data, err, response)
				}
			}
		})
	}
}
