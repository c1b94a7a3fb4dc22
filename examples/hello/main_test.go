package main

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/tool"
)

func TestHello(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{tools()}})
	if got := s.Send("/greet name=Ada"); got.Status.State != a2a.TaskStateCompleted {
		t.Errorf("greet: %s", got.Status.State)
	}
	asked := s.Send("/fire name=Ada")
	if asked.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("fire: %s", asked.Status.State)
	}
	s.Approve(asked)
	s.Wait(asked.ID, a2a.TaskStateCompleted)
}
