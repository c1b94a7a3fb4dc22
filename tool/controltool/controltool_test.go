package controltool_test

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/tool"
	"a2a-server/tool/controltool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A planner without a model takes the tools' actions for information: the task ends as any other. It
// does not publish what finish withholds.
func TestInformation(t *testing.T) {
	t.Parallel()
	to, err := controltool.TransferTo("travel", "")
	if err != nil {
		t.Fatal(err)
	}
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("control", controltool.Finish(), controltool.Escalate(), to)}})
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"finish":             {map[string]any{"text": "It is done."}, ""},
		"escalate":           {map[string]any{"reason": "I may not."}, "I may not."},
		"transfer_to_travel": {map[string]any{}, "The agent travel takes over."},
	} {
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": name, "args": tc.args}))
		done := s.Wait(s.SendMessage(m).ID, a2a.TaskStateCompleted)
		if got := strings.TrimSpace(s.Text(done)); got != tc.want {
			t.Errorf("%s: the text is %q, want %q", name, got, tc.want)
		}
	}
}

// The tool that hands over names the agent, also through wrappers, and needs a name.
func TestTransferTo(t *testing.T) {
	t.Parallel()
	to, err := controltool.TransferTo("travel", "For journeys.")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.WithConfirmation(tool.NewToolset("x", to)).Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	w, is := tool.As[tool.Transferer](tools[0])
	if !is || w.TransfersTo() != "travel" || tools[0].Name() != "transfer_to_travel" || tools[0].Description() != "For journeys." {
		t.Errorf("the tool is %q (%q), a Transferer: %v", tools[0].Name(), tools[0].Description(), is)
	}
	if !tool.AnnotationsOf(tools[0]).ReadOnly {
		t.Error("the tool is not read-only")
	}
	if _, err := controltool.TransferTo("", "x"); err == nil {
		t.Error("TransferTo without a name succeeds")
	}
}
