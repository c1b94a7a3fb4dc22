package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// wide is a presenter whose metadata is not compact.
type wide struct{ task.Presenter }

func (wide) Metadata() json.RawMessage { return json.RawMessage("{ \"of\": \"<us>\"\n}") }

// The metadata of a presenter may have spaces: its tasks, statuses and reports of progress can
// be read.
func TestMetadataWithSpaces(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) { r.Presenter = wide{r.Presenter} }, &fake{name: "run"})
	k.begin(task.PlannedCall{Tool: "run"})
	p, err := k.rules.Progress(k.fold().Publisher(presents, 1<<20), k.now, "c1.1", "run", "" /* job */, tool.Progress{Done: 1})
	if err != nil {
		t.Fatal(err)
	}
	k.ends("c1.1", rules.RunEnded{Last: []output.RunEvent{p}, Result: json.RawMessage(`1`)})
	k.wantState(a2a.TaskStateCompleted)
	public := 0
	for _, e := range k.log {
		if !e.Public || e.Kind == "artifact" {
			continue
		}
		if public++; !strings.Contains(string(e.Data), `"of":"\u003cus\u003e"`) {
			t.Errorf("%s event %s, want the metadata in compact form", e.Kind, e.Data)
		}
	}
	if public < 3 {
		t.Errorf("%d events with the metadata, want at least the task, a status and a progress", public)
	}
}
