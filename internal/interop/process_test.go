package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// run runs a program and yields each JSON value that it writes to its output, as it
// comes, and then the program's error when it fails. Breaking off ends the program.
func run(ctx context.Context, program string, args ...string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			yield(nil, fmt.Errorf("start %s: %w", program, err))
			return
		}
		values, going := json.NewDecoder(stdout), true
		for going {
			var value json.RawMessage
			if err = values.Decode(&value); err != nil {
				break
			}
			going = yield(value, nil)
		}
		if !going || err != nil && !errors.Is(err, io.EOF) {
			cancel()
		}
		ended := cmd.Wait()
		switch {
		case !going:
		case !errors.Is(err, io.EOF):
			yield(nil, fmt.Errorf("read the output of %s: %w", program, err))
		case ended != nil:
			yield(nil, &exitError{err: ended, stderr: stderr.String()})
		}
	}
}

// one runs a program for the one value that it writes.
func one(ctx context.Context, program string, args ...string) (json.RawMessage, error) {
	var last json.RawMessage
	for value, err := range run(ctx, program, args...) {
		if err != nil {
			return nil, err
		}
		if last != nil {
			return nil, fmt.Errorf("%s wrote a second value: %s", program, value)
		}
		last = value
	}
	if last == nil {
		return nil, fmt.Errorf("%s wrote nothing", program)
	}
	return last, nil
}

// An exitError is the failure of a program, with what it said.
type exitError struct {
	err    error
	stderr string
}

// Error returns what the program said.
func (e *exitError) Error() string { return fmt.Sprintf("%v: %s", e.err, e.stderr) }

// Unwrap returns the error of the process.
func (e *exitError) Unwrap() error { return e.err }

// decode reads JSON as a new T.
func decode[T any](raw json.RawMessage, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("read %s: %w", raw, err)
	}
	return v, nil
}

// sent reads what came of sending a message: the JSON of the one event.
func sent(raw json.RawMessage, err error) (a2a.SendMessageResult, error) {
	response, err := decode[a2a.StreamResponse](raw, err)
	if err != nil {
		return nil, err
	}
	result, ok := response.Event.(a2a.SendMessageResult)
	if !ok {
		return nil, fmt.Errorf("sending gave %T", response.Event)
	}
	return result, nil
}

// decoded reads the JSON of events.
func decoded(events iter.Seq2[json.RawMessage, error]) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for raw, err := range events {
			response, err := decode[a2a.StreamResponse](raw, err)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(response.Event, nil) {
				return
			}
		}
	}
}
