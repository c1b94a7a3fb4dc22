package a2aservertest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// elsewhere is a tool whose work is done once a second look finds it so.
type elsewhere struct {
	tool.CallableTool
	looks chan chan error // each look, and what it finds
}

func (e *elsewhere) Unwrap() tool.Tool { return e.CallableTool }

func (e *elsewhere) Watch(tool.Context, json.RawMessage) ([]tool.Waiting, error) {
	found := make(chan error)
	e.looks <- found
	return nil, <-found
}

// The clock may be advanced while a look is under way: the next look comes at its time all the same.
func TestAdvanceDuringALook(t *testing.T) {
	t.Parallel()
	e := &elsewhere{looks: make(chan chan error)}
	waits := []tool.Waiting{{ID: "1", Agent: "shop", WaitsFor: "finance"}}
	var s *a2aservertest.Server
	job := functiontool.Must(functiontool.New(functiontool.Config{Name: "job"}, func(ctx tool.Context, _ struct{}) (string, error) {
		if _, again := tool.Resumed(ctx); again {
			return "done", nil
		}
		return "", &tool.Suspension{Wake: s.Now().Add(time.Second), State: json.RawMessage("1"), Watch: true, Waits: waits}
	}))
	e.CallableTool = job
	s = a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{tool.NewToolset("elsewhere", e)}}.Must(t))
	task := s.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("/job")))
	s.Advance(2 * time.Second)
	first := <-e.looks
	s.Advance(5 * time.Second)
	first <- tool.ErrUnchanged
	second := <-e.looks
	second <- nil
	s.Wait(task.ID, a2a.TaskStateCompleted)
}
