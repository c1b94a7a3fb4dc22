//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
)

// scene is what one client wants: one message, and what is to become of its task. It
// remembers across processes what the client was told.
type scene struct {
	name   string
	calls  []object
	stream bool             // sent with SendStreamingMessage
	hurry  bool             // sent without waiting for the task to rest
	verb   string           // on what is asked before a call; "": nobody answers
	again  bool             // a call whose result is unknown is run again; else a person says what came of it
	leave  bool             // nobody answers in the first process
	cancel bool             // canceled when it asks
	want   string           // state in the end, when no call was unknown
	hook   string           // URL of its webhook
	seen   func(events int) // called with each event of a stream

	id       string
	frames   []frame
	tried    map[string]string // decisions of decisions that were sent, by approval
	told     map[string]bool   // approvals whose decision was acknowledged
	unknown  bool              // it was asked what came of a call
	canceled bool              // acknowledged
	final    string            // state in which it was seen to end
}

func call(tool string, args object) object { return object{"tool": tool, "args": args} }

func transfer(to string) object { return call("transfer_money", object{"amount": 5, "to": to}) }

// The text of a streaming call, so that it can be checked to the letter.
const (
	streamLine = "every event is on the disk before anybody sees it; "
	streamSize = 37
)

func stream(chunks int) object {
	return call("stream", object{"chunks": chunks, "size": streamSize, "interval": "2ms"})
}

const (
	completed = "TASK_STATE_COMPLETED"
	canceled  = "TASK_STATE_CANCELED"
)

func newScenes(gated bool) []*scene {
	all := []*scene{
		{name: "echo", calls: []object{call("echo", object{"text": "hello"})}, want: completed},
		{name: "echo stream", stream: true, calls: []object{call("echo", object{"text": "hello"})}, want: completed},
		{name: "stream", stream: true, calls: []object{stream(60)}, want: completed},
		{name: "approve", calls: []object{transfer("approve")}, verb: "approve", want: completed},
		{name: "approve again", stream: true, calls: []object{transfer("approve again")}, verb: "approve", again: true, want: completed},
		{name: "reject", calls: []object{transfer("reject")}, verb: "reject", want: canceled},
		{name: "cancel", calls: []object{transfer("cancel")}, cancel: true, want: canceled},
		{name: "parked", calls: []object{transfer("parked")}, verb: "approve", leave: true, want: completed},
		{name: "while it runs", hurry: true, calls: []object{stream(100), transfer("while it runs")}, verb: "approve", want: completed},
	}
	for _, s := range all {
		s.tried, s.told = map[string]string{}, map[string]bool{}
		if gated && s.calls[0]["tool"] == "echo" {
			s.want = canceled // nobody answers in time
		}
	}
	return all
}

// errLeft says that a scene is where the first process may leave it.
var errLeft = errors.New("left")

// play drives a scene to where this process may leave it. It may be called again,
// with another process, after any error of the connection.
func (s *scene) play(ctx context.Context, c *client, first bool) error {
	if s.final != "" {
		return nil
	}
	take := func(f frame) error { return s.take(ctx, c, first, f) }
	var err error
	if s.id == "" && s.stream {
		err = c.stream(ctx, "SendStreamingMessage", s.message(), "", take)
	} else {
		err = s.send(ctx, c, first)
	}
	for err == nil && s.final == "" {
		last := ""
		if n := len(s.frames); n > 0 {
			last = s.frames[n-1].id
		}
		if err = c.stream(ctx, "SubscribeToTask", object{"id": s.id}, last, take); hasCode(err, -32004) && last == "" {
			err = s.look(ctx, c, first)
		} else if err == nil && s.final == "" {
			err = errors.New("the stream ended before the task")
		}
	}
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

// send sends the message, again when it was sent before: it is still the same task.
func (s *scene) send(ctx context.Context, c *client, first bool) error {
	params := s.message()
	params["configuration"] = object{"returnImmediately": s.hurry || s.id != "", "taskPushNotificationConfig": s.webhook()}
	var sent struct{ Task *taskState }
	if err := c.call(ctx, "SendMessage", params, &sent); err != nil {
		return err
	}
	if sent.Task == nil || s.id != "" && s.id != sent.Task.ID {
		return fmt.Errorf("the message of task %q was answered with %+v", s.id, sent.Task)
	}
	s.id = sent.Task.ID
	return s.look(ctx, c, first)
}

// look gets the task as it stands, and answers what it asks. What was acknowledged
// may not be asked again.
func (s *scene) look(ctx context.Context, c *client, first bool) error {
	var got taskState
	if err := c.call(ctx, "GetTask", object{"id": s.id}, &got); err != nil {
		return err
	}
	asked, err := got.Status.questions()
	if err != nil {
		return err
	}
	for _, q := range asked {
		if s.told[q.ID] && got.Status.State != "TASK_STATE_WORKING" {
			return fmt.Errorf("the decision about %+v was acknowledged, and it is asked again", q)
		}
	}
	if s.canceled && got.Status.State != canceled {
		return fmt.Errorf("the cancel was acknowledged, and the task is %s", got.Status.State)
	}
	return s.answer(ctx, c, first, &got.Status)
}

// take takes a frame: it has to come after the last one, and a stream that continues
// does not begin again.
func (s *scene) take(ctx context.Context, c *client, first bool, f frame) error {
	if f.id == "" {
		return fmt.Errorf("an event has no id: %s", f.data)
	}
	if n := len(s.frames); n > 0 {
		if last := s.frames[n-1]; f.seq <= last.seq {
			return fmt.Errorf("event %s comes after %s", f.id, last.id)
		}
		if f.event.Task != nil {
			return fmt.Errorf("the stream begins again: %s", f.data)
		}
	}
	s.frames = append(s.frames, f)
	if s.seen != nil {
		s.seen(len(s.frames))
	}
	switch e := f.event; {
	case e.Task != nil:
		if s.id != "" && s.id != e.Task.ID {
			return fmt.Errorf("the task was %s and is %s", s.id, e.Task.ID)
		}
		s.id = e.Task.ID
		return s.answer(ctx, c, first, &e.Task.Status)
	case e.StatusUpdate != nil:
		return s.answer(ctx, c, first, &e.StatusUpdate.Status)
	}
	return nil
}

// answer does what a status asks for.
func (s *scene) answer(ctx context.Context, c *client, first bool, now *status) error {
	if now.ended() {
		s.final = now.State
		return nil
	}
	asked, err := now.questions()
	if err != nil {
		return err
	}
	for _, q := range asked {
		if s.told[q.ID] {
			continue // an older question, read late
		}
		switch {
		case q.Kind == "outcome":
			s.unknown = true
			err = s.decide(ctx, c, q, map[bool]string{true: "approve", false: "respond"}[s.again])
		case s.leave && first:
			return errLeft
		case s.cancel:
			var got taskState
			if err = c.call(ctx, "CancelTask", object{"id": s.id}, &got); err == nil {
				s.canceled = true
			}
			if hasCode(err, -32002) {
				err = nil // an earlier one was not acknowledged, but done
			}
		case s.verb != "":
			err = s.decide(ctx, c, q, s.verb)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decide sends a decision: the same message again as long as it was not acknowledged.
func (s *scene) decide(ctx context.Context, c *client, q question, verb string) error {
	decision := object{"id": q.ID, "decision": verb}
	if verb == "respond" {
		decision["response"] = object{"said": "by a person"}
	}
	s.tried[q.ID] = verb
	err := c.call(ctx, "SendMessage", object{
		"message": object{
			"messageId": "decision about " + q.ID, "taskId": s.id, "role": "ROLE_USER",
			"parts": []any{object{"data": object{"type": "approval_response", "decisions": []any{decision}}}},
		},
		"configuration": object{"returnImmediately": true},
	}, &struct{}{})
	if err == nil {
		s.told[q.ID] = true
	}
	return err
}

// message is the same each time that it is sent.
func (s *scene) message() object {
	m := object{
		"message": object{
			"messageId": "message of " + s.name, "role": "ROLE_USER",
			"parts": []any{object{"data": object{"calls": s.calls}}},
		},
	}
	if s.hook != "" {
		m["configuration"] = object{"taskPushNotificationConfig": s.webhook()}
	}
	return m
}

func (s *scene) webhook() object {
	return object{"id": "crash", "url": s.hook, "token": "the token of " + s.name}
}
