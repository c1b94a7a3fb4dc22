//go:build unix

package kinds_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
)

// TestQuestionExpires: the question of a running tool has the deadline of all questions,
// and is no question about arguments.
func TestQuestionExpires(t *testing.T) {
	t.Parallel()
	c := serverConfig{Dir: t.TempDir()}
	s := a2aservertest.New(t, testserver.Config{
		Tools: []tool.Toolset{tool.NewToolset("go", &dynamic{function{base{"dynamic", false}, &c}})},
		Set:   map[string]string{"deadlines.expires": "1h"},
	}.Must(t))
	asked := s.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{
		"tool": "dynamic", "args": map[string]any{"scene": "late", "amount": 1},
	})))
	pending := s.Pending(asked)
	if len(pending) != 1 {
		t.Fatalf("%d questions are pending, want 1", len(pending))
	}
	s.Advance(2 * time.Hour)
	s.Wait(asked.ID, a2a.TaskStateCanceled)
	if _, err := os.Stat(c.ledger()); !errors.Is(err, os.ErrNotExist) {
		t.Error("it paid, and nobody answered")
	}
}
