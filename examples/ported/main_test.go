package main

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
)

// decide answers the only question of a task as ADK's clients do.
func decide(s *a2aservertest.Server, asked *a2a.Task, response map[string]any) *a2a.Task {
	part := a2a.NewDataPart(map[string]any{"id": s.Pending(asked)[0].ID, "name": "adk_request_confirmation", "response": response})
	part.Metadata = map[string]any{"adk_type": "function_response"}
	m := a2a.NewMessage(a2a.MessageRoleUser, part)
	m.TaskID = asked.ID
	return s.SendMessage(m)
}

func TestTimeOff(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		response map[string]any
		state    a2a.TaskState
		want     string
	}{
		"all":       {map[string]any{"confirmed": true}, a2a.TaskStateCompleted, `"granted":5`},
		"fewer":     {map[string]any{"confirmed": true, "payload": map[string]any{"approved_days": 2}}, a2a.TaskStateCompleted, `"granted":2`},
		"more":      {map[string]any{"confirmed": true, "payload": map[string]any{"approved_days": 50}}, a2a.TaskStateCompleted, `"granted":5`},
		"no number": {map[string]any{"confirmed": true, "payload": map[string]any{"approved_days": "all"}}, a2a.TaskStateFailed, "whole number"},
		"none":      {map[string]any{"confirmed": false}, a2a.TaskStateCanceled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := a2aservertest.New(t, config())
			asked := s.Send("/request_time_off days=5")
			s.Wait(asked.ID, a2a.TaskStateInputRequired)
			done := s.Wait(decide(s, asked, tt.response).ID, tt.state)
			said := s.Text(done)
			if done.Status.Message != nil {
				for _, p := range done.Status.Message.Parts {
					said += p.Text()
				}
			}
			if !strings.Contains(said, tt.want) {
				t.Errorf("it said %q, want %s", said, tt.want)
			}
		})
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, config())
	small := s.Send("/transfer amount=10000 to=bob")
	if got := s.Text(s.Wait(small.ID, a2a.TaskStateCompleted)); !strings.Contains(got, "transferred 10000 to bob") {
		t.Errorf("a small transfer said %q", got)
	}
	for _, approve := range []bool{true, false} {
		asked := s.Send("/transfer amount=10001 to=bob")
		s.Wait(asked.ID, a2a.TaskStateInputRequired)
		if approve {
			s.Approve(asked)
			s.Wait(asked.ID, a2a.TaskStateCompleted)
			continue
		}
		s.Reject(asked, "too much")
		if got := s.Text(s.Wait(asked.ID, a2a.TaskStateCanceled)); strings.Contains(got, "transferred") {
			t.Errorf("a rejected transfer said %q", got)
		}
	}
}

func TestDeleteRecords(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, config())
	asked := s.Send("/delete_records table=users")
	s.Wait(asked.ID, a2a.TaskStateInputRequired)
	s.Approve(asked)
	s.Wait(asked.ID, a2a.TaskStateCompleted)
}
