package main

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
)

func TestMove(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, config())
	asked := s.Send("move 5 from alice to bob")
	if asked.Status.State != a2a.TaskStateInputRequired || s.Pending(asked)[0].Tool != "withdraw" {
		t.Fatalf("the task is %s", asked.Status.State)
	}
	s.Approve(asked)
	if done := s.Wait(asked.ID, a2a.TaskStateCompleted); len(done.Artifacts) != 2 {
		t.Errorf("it has %d results, want those of both bookings", len(done.Artifacts))
	}
	refused := s.Send("move 6 from alice to bob")
	s.Reject(refused, "no")
	if s.Wait(refused.ID, a2a.TaskStateFailed); len(s.Get(refused.ID).Artifacts) > 1 {
		t.Error("it was deposited though nothing was withdrawn")
	}
}
