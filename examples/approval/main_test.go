package main

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
)

func TestApproval(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, config())
	for _, c := range []struct {
		text string
		want a2a.TaskState
	}{
		{"/pay amount=100 to=bob", a2a.TaskStateCompleted},
		{"/pay amount=101 to=bob", a2a.TaskStateInputRequired},
		{"/pay amount=5000 to=casino", a2a.TaskStateCanceled},
	} {
		got := s.Send(c.text)
		if s.Wait(got.ID, c.want); c.want != a2a.TaskStateInputRequired {
			continue
		}
		s.Approve(got)
		s.Wait(got.ID, a2a.TaskStateCompleted)
	}
}
