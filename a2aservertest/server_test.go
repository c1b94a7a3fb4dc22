package a2aservertest_test

import (
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

type payment struct {
	Amount int `json:"amount"`
}

func bank(paid *int) tool.Toolset {
	return tool.NewToolset("bank", functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", RequireApproval: true}, func(_ tool.Context, p payment) (string, error) {
		*paid += p.Amount
		return "paid", nil
	})))
}

func TestApproveAndReject(t *testing.T) {
	t.Parallel()
	paid := 0
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(&paid)}})
	asked := s.Send("/pay amount=5")
	if asked.Status.State != a2a.TaskStateInputRequired || len(s.Pending(asked)) != 1 || paid != 0 {
		t.Fatalf("the task is %s and asks %d things, with %d paid", asked.Status.State, len(s.Pending(asked)), paid)
	}
	s.Approve(asked)
	s.Wait(asked.ID, a2a.TaskStateCompleted)
	if paid != 5 {
		t.Errorf("%d was paid, want 5", paid)
	}
	rejected := s.Send("/pay amount=7")
	s.Reject(rejected, "too much")
	s.Wait(rejected.ID, a2a.TaskStateCanceled)
	if paid != 5 {
		t.Errorf("%d was paid after a rejection, want 5", paid)
	}
}

// The clock stands still unless the test moves it, and with it what is due.
func TestAdvance(t *testing.T) {
	t.Parallel()
	paid := 0
	s := a2aservertest.New(t, a2aserver.Config{
		Tools: []tool.Toolset{bank(&paid)},
		Set:   map[string]string{"deadlines.expires": "1h"},
	})
	asked := s.Send("/pay amount=5")
	began := s.Now()
	s.Advance(59 * time.Minute)
	if got := s.Get(asked.ID); got.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("the task is %s before the deadline", got.Status.State)
	}
	s.Advance(2 * time.Minute)
	if got := s.Now().Sub(began); got != 61*time.Minute {
		t.Errorf("the clock moved by %v", got)
	}
	s.Wait(asked.ID, a2a.TaskStateCanceled)
	if paid != 0 {
		t.Errorf("%d was paid after the deadline", paid)
	}
}
