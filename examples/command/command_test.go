package command_test

import (
	"os"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCommand(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, testserver.Config{File: "a2a-server.yaml", Environment: []string{"PATH=" + os.Getenv("PATH")}}.Must(t))

	listed := s.Send("/services")
	if got := s.Text(s.Wait(listed.ID, a2a.TaskStateCompleted)); !strings.Contains(got, "billing\nsearch\n") {
		t.Errorf("services returned %q", got)
	}

	asked := s.Send("/deploy env=staging service=billing")
	s.Wait(asked.ID, a2a.TaskStateInputRequired)
	s.Approve(asked)
	if got := s.Text(s.Wait(asked.ID, a2a.TaskStateCompleted)); !strings.Contains(got, "billing: build\nbilling: push\nbilling: switch staging\n") {
		t.Errorf("deploy returned %q", got)
	}

	// What is not a service is no option either.
	s.Wait(s.Send("/deploy env=staging service=--help").ID, a2a.TaskStateFailed)
}
