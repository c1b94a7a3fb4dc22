//go:build linux

package faults

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"
)

// The kinds of errands.
const (
	echo    = "echo"    // answered at once
	stream  = "stream"  // followed while it is made
	approve = "approve" // money that is transferred when somebody has allowed it
	reject  = "reject"  // money that nobody allows
	lapse   = "lapse"   // money about which nobody decides in time
)

const (
	completed = "TASK_STATE_COMPLETED"
	canceled  = "TASK_STATE_CANCELED"
	failed    = "TASK_STATE_FAILED"

	inputRequired = "TASK_STATE_INPUT_REQUIRED"
)

// streamed is what the stream tool says again and again.
const streamed = "every event is on the disk before anybody sees it; "

// errand is one message and what is to become of it, with all that its caller was told.
// One caller at a time carries it out; what others may read is guarded.
type errand struct {
	kind string
	name string // also the message's id, and who gets the money
	size int    // of the text of an echo, and of two chunks of a stream, in bytes

	frames  []frame
	decided map[string]string // decisions that were sent, by question
	told    map[string]bool   // questions whose decision was acknowledged
	unknown bool              // somebody was asked what came of the call
	began   time.Time

	mu    sync.Mutex
	id    string // of the task, when it was acknowledged
	state string // in which it was shown to end
	text  string // that was shown with it
	ended time.Time
}

func newErrand(kind, name string, size int) *errand {
	return &errand{kind: kind, name: name, size: size, decided: map[string]string{}, told: map[string]bool{}, began: time.Now()}
}

// shown returns what others may read; state is "" as long as the end was not shown.
func (e *errand) shown() (id, state, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id, e.state, e.text
}

// want is the text that an echo or a stream has to end with.
func (e *errand) want() string {
	if e.kind == echo {
		random := fnv.New64a() // nothing that the store could compress
		_, _ = random.Write([]byte(e.name))
		return (e.name + " " + base64.StdEncoding.EncodeToString(noise(random.Sum64(), e.size)))[:e.size]
	}
	size := streamChunks * e.chunk()
	return strings.Repeat(streamed, size/len(streamed)+1)[:size]
}

const streamChunks = 10

// chunk is the size of one chunk of a stream, in bytes.
func (e *errand) chunk() int { return e.size / 2 }

// message is the same each time that it is sent.
func (e *errand) message() object {
	call := object{"tool": "transfer_money", "args": object{"amount": 5, "to": e.name}}
	switch e.kind {
	case echo:
		call = object{"tool": echo, "args": object{"text": e.want()}}
	case stream:
		call = object{"tool": stream, "args": object{"chunks": streamChunks, "size": e.chunk(), "interval": "3ms"}}
	}
	return object{"message": object{
		"messageId": e.name, "role": "ROLE_USER", "parts": []any{object{"data": object{"calls": []any{call}}}},
	}}
}

// run carries the errand on from where it is to its end. After an error it can be called
// again, with the same process or another one.
func (e *errand) run(ctx context.Context, c *client) error {
	id, state, _ := e.shown()
	if id == "" {
		if err := e.send(ctx, c); err != nil {
			return err
		}
		id, state, _ = e.shown()
	}
	for state == "" {
		t, err := c.get(ctx, id)
		if err != nil {
			return err
		}
		if err := e.look(ctx, c, &t); err != nil {
			return err
		}
		if _, state, _ = e.shown(); state != "" {
			break
		}
		if err := e.follow(ctx, c, id); err != nil {
			return err
		}
	}
	return nil
}

func (e *errand) send(ctx context.Context, c *client) error {
	if e.kind == stream && len(e.frames) == 0 {
		return c.stream(ctx, "SendStreamingMessage", e.message(), "", e.take)
	}
	var sent struct{ Task *task }
	if err := c.call(ctx, "SendMessage", e.message(), &sent); err != nil {
		return err
	}
	if sent.Task == nil {
		return fmt.Errorf("%s: a message was answered without a task", e.name)
	}
	return e.known(sent.Task)
}

// known notes that the server has said which task it is.
func (e *errand) known(t *task) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.id != "" && e.id != t.ID {
		return fmt.Errorf("%s: the message had task %s, and now has %s", e.name, e.id, t.ID)
	}
	e.id = t.ID
	if t.Status.ended() && e.state == "" {
		e.state, e.text, e.ended = t.Status.State, t.text(), time.Now()
	}
	return nil
}

// again sends the message once more, and wants the task that it has made.
func (e *errand) again(ctx context.Context, c *client) error {
	id, _, _ := e.shown()
	var sent struct{ Task *task }
	if err := c.call(ctx, "SendMessage", e.message(), &sent); err != nil {
		return fmt.Errorf("%s, task %s, sent again: %w", e.name, id, err)
	}
	if sent.Task == nil {
		return fmt.Errorf("%s, task %s, sent again, was answered without a task", e.name, id)
	}
	return e.known(sent.Task)
}

// take takes a frame of the stream.
func (e *errand) take(f frame, ev *event) error {
	if f.id == "" {
		return fmt.Errorf("%s: an event has no id: %s", e.name, f.data)
	}
	e.frames = append(e.frames, f)
	if ev.Task != nil {
		return e.known(ev.Task)
	}
	return nil
}

// errMoved ends a stream that is followed: there is something to look at.
var errMoved = errors.New("the task has moved on")

// follow waits until the task has ended or asks something.
func (e *errand) follow(ctx context.Context, c *client, id string) error {
	err := c.stream(ctx, "SubscribeToTask", object{"id": id}, "", func(_ frame, ev *event) error {
		now := status{}
		switch {
		case ev.Task != nil:
			now = ev.Task.Status
		case ev.StatusUpdate != nil:
			now = ev.StatusUpdate.Status
		}
		if asked, err := now.questions(); err != nil || len(asked) > 0 || now.ended() {
			return errMoved
		}
		return nil
	})
	if errors.Is(err, errMoved) || reasonOf(err) == "UNSUPPORTED_OPERATION" {
		return nil // it has ended meanwhile
	}
	return err
}

// look looks at the task and answers what it asks. What was acknowledged is not asked
// again.
func (e *errand) look(ctx context.Context, c *client, t *task) error {
	if err := e.known(t); err != nil || t.Status.ended() {
		return err
	}
	asked, err := t.Status.questions()
	if err != nil {
		return err
	}
	for _, q := range asked {
		if e.told[q.ID] {
			if t.Status.State == "TASK_STATE_INPUT_REQUIRED" {
				return fmt.Errorf("%s: the decision on %s was acknowledged, and is asked for again", e.name, q.ID)
			}
			continue
		}
		verb := e.kind
		if q.Kind == "outcome" {
			// The process died while the call ran. Running it again would be right, too;
			// but then the ledger could have two lines.
			e.unknown, verb = true, "respond"
		}
		e.decided[q.ID] = verb
		err := decide(ctx, c, t.ID, q.ID, verb, "decision on "+q.ID)
		if expired(err) && !q.ExpiresAt.IsZero() {
			continue // the end of the task says so, too, and whether it may
		}
		if err != nil {
			return err
		}
		e.told[q.ID] = true
	}
	return nil
}

// answered is what a person says came of a call.
const answered = `{"said":"by a person"}`

// decide sends a decision.
func decide(ctx context.Context, c *client, id, question, verb, message string) error {
	decision := object{"id": question, "decision": verb}
	if verb == "respond" {
		decision["response"] = json.RawMessage(answered)
	}
	return c.call(ctx, "SendMessage", object{
		"message": object{
			"messageId": message, "taskId": id, "role": "ROLE_USER",
			"parts": []any{object{"data": object{"type": "approval_response", "decisions": []any{decision}}}},
		},
		"configuration": object{"returnImmediately": true},
	}, &struct{}{})
}
