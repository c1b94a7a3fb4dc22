package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// quiet is how long a stream may send nothing, not even a heartbeat, before it counts as lost.
	quiet = 60 * time.Second
	// maxEvent is larger than every event of a stream, in bytes.
	maxEvent = 64 << 20
)

// Watch returns the entries of the audit that the caller may see, as they are made, after the
// event with the id last; "" means from now on. Lost connections are made again, and nothing is
// left out: an event with Reset says that entries may have been missed all the same, because the
// server does not keep the position any longer. List again then, and whenever an event has
// neither an entry nor Reset: it marks the position at which a stream has begun.
//
// The iteration ends with an error: an [*Error] if the server refuses the stream, or the cause
// of ctx.
func (c *Client) Watch(ctx context.Context, last string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := c.follow(ctx, "/events", last, func(f frame) (bool, error) {
			e := Event{ID: f.id, Reset: f.name == "reset"}
			if f.name == "" {
				if err := json.Unmarshal(f.data, &e.Entry); err != nil {
					return false, ErrForeign
				}
			}
			return yield(e, nil), nil
		}, nil)
		if err != nil {
			yield(Event{}, err)
		}
	}
}

// A TaskEvent is an event of a task.
type TaskEvent struct {
	ID   string          // of the position after it; resume with it
	Data json.RawMessage // a StreamResponse of A2A 1.0
}

// TaskEvents returns the events of a task after the event with the id last, or all of them for
// "", as they are made, until the task has ended. It reconnects after a lost connection. An
// error ends the iteration.
func (c *Client) TaskEvents(ctx context.Context, task, last string) iter.Seq2[TaskEvent, error] {
	return func(yield func(TaskEvent, error) bool) {
		ended := false
		err := c.follow(ctx, "/tasks/"+url.PathEscape(task)+"/events", last, func(f frame) (bool, error) {
			ended = ended || terminal(f.data)
			return yield(TaskEvent{f.id, f.data}, nil), nil
		}, func() bool { return ended || c.ended(ctx, task) })
		if err != nil {
			yield(TaskEvent{}, err)
		}
	}
}

// ended reports whether a task is known to have ended.
func (c *Client) ended(ctx context.Context, task string) bool {
	d, err := c.Task(ctx, task)
	return err == nil && final(d.Task.State)
}

// final reports whether a state of a task is final.
func final(state string) bool {
	return slices.Contains([]string{"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"}, state)
}

// terminal reports whether a StreamResponse says that its task has ended.
func terminal(data []byte) bool {
	type status struct {
		Status struct{ State string }
	}
	var e struct {
		Task   *status
		Update *status `json:"statusUpdate"`
	}
	if json.Unmarshal(data, &e) != nil {
		return false
	}
	return slices.ContainsFunc([]*status{e.Task, e.Update}, func(s *status) bool { return s != nil && final(s.Status.State) })
}

// frame is an event of a stream.
type frame struct {
	id, name string
	data     []byte
}

// follow reads a stream, with reconnects, and gives its frames to each, until that returns
// false. over reports whether a stream that has ended normally is complete; nil: no stream is.
func (c *Client) follow(ctx context.Context, path, last string, each func(frame) (bool, error), over func() bool) error {
	for failures := 0; ; failures++ {
		frames, stopped := 0, false
		err := c.stream(ctx, path, last, func(f frame) (bool, error) {
			if f.id != "" {
				last = f.id
			}
			frames++
			more, err := each(f)
			stopped = !more
			return more, err
		})
		if frames > 0 {
			failures = 0
		}
		switch {
		case stopped && err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && over != nil && over():
			return nil
		}
		if err == nil {
			err = &sendError{cause: errors.New("the stream ended")}
		}
		pause, again := retry(err, failures, false)
		if status, is := errors.AsType[*Error](err); is && status.Status >= http.StatusInternalServerError && status.Reason == ReasonUnclear {
			again = true // a proxy whose server is away
		}
		if !again {
			return plain(err)
		}
		if err := c.pause(ctx, err, pause); err != nil {
			return err
		}
	}
}

// stream reads a stream until it ends, or each returns false.
func (c *Client) stream(ctx context.Context, path, last string, each func(frame) (bool, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(quiet, func() { cancel(errQuiet) })
	defer watchdog.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if last != "" {
		header.Set("Last-Event-ID", last)
	}
	response, err := c.send(ctx, http.MethodGet, path, nil, nil, header)
	if err != nil {
		return lost(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	lines := bufio.NewReaderSize(response.Body, 64<<10)
	var f frame
	for {
		line, err := readLine(lines, maxEvent-len(f.data))
		watchdog.Reset(quiet)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return lost(ctx, &sendError{cause: err})
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && f.data != nil:
			if more, err := each(f); err != nil || !more {
				return err
			}
			f = frame{}
		case line == "":
			f = frame{}
		case name == "id":
			f.id = value
		case name == "event":
			f.name = value
		case name == "data":
			if f.data != nil {
				f.data = append(f.data, '\n')
			}
			f.data = append(append([]byte{}, f.data...), value...)
		}
	}
}

var errQuiet = errors.New("the stream has been silent for too long")

// lost returns the error of a stream, which may be sent again if it has only been silent.
func lost(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errQuiet) {
		return &sendError{cause: errQuiet}
	}
	return err
}

// readLine returns a line without its end.
func readLine(r *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > most {
			return "", fmt.Errorf("an event has more than %d MiB", maxEvent>>20)
		}
		line = append(line, part...)
		if err == nil {
			return string(bytes.TrimRight(line, "\r\n")), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
}
