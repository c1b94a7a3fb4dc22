package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// A frame is one server-sent event that has an id.
type frame struct{ ID, Data string }

// frames are what curl prints of a stream, read as it comes.
type frames struct {
	lines *bufio.Scanner
	wait  func() error // waits for curl to end and returns its error, once
}

// curlStream begins to follow a stream. It is broken off when the test ends.
func curlStream(ctx context.Context, t *testing.T, curl string, args ...string) *frames {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, curl, append([]string{"--silent", "--show-error", "--fail", "--no-buffer"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := false
	f := &frames{lines: bufio.NewScanner(stdout)}
	f.lines.Buffer(nil, 10<<20)
	f.wait = func() error {
		if ended {
			return nil
		}
		ended = true
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%w: %s", err, stderr.String())
		}
		return nil
	}
	t.Cleanup(func() {
		cancel()
		_ = f.wait() // killed, where the test has not read to the end
	})
	return f
}

// next returns the next frame, and false at the end of the stream. Every frame has
// an id, but for the one that carries an error; comments are passed over.
func (f *frames) next(t *testing.T) (frame, bool) {
	t.Helper()
	var next frame
	for f.lines.Scan() {
		line := f.lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && next.Data != "":
			return next, true
		case line == "" || strings.HasPrefix(line, ":"):
		case name == "id":
			next.ID = value
		case name == "data":
			next.Data = value
		default:
			t.Fatalf("a line in a stream: %q", line)
		}
	}
	if err := f.lines.Err(); err != nil {
		t.Fatal(err)
	}
	if next.Data != "" {
		t.Fatalf("the stream ends within a frame: %+v", next)
	}
	return next, false
}

// rest reads to the end, where curl has to be content.
func (f *frames) rest(t *testing.T) []frame {
	t.Helper()
	var all []frame
	for {
		next, ok := f.next(t)
		if !ok {
			break
		}
		all = append(all, next)
	}
	if err := f.wait(); err != nil {
		t.Fatalf("curl: %v", err)
	}
	return all
}

// event reads what a frame carries: in JSON-RPC it is the result of a response.
func (f frame) event(t *testing.T) a2a.Event {
	t.Helper()
	var response struct {
		JSONRPC string
		Result  a2a.StreamResponse
	}
	var err error
	if strings.HasPrefix(f.Data, `{"jsonrpc"`) {
		err = json.Unmarshal([]byte(f.Data), &response)
	} else {
		err = json.Unmarshal([]byte(f.Data), &response.Result)
	}
	if err != nil {
		t.Fatalf("frame %s: %v: %s", f.ID, err, f.Data)
	}
	return response.Result.Event
}
