package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// fullCheck is how many answers there are to one that is checked whole; the others
// are looked at for what costs little.
const fullCheck = 100

var (
	completed    = []byte(`"TASK_STATE_COMPLETED"`)
	completedOld = []byte(`"completed"`) // in A2A 0.3
	waits        = []byte(`"TASK_STATE_INPUT_REQUIRED"`)
	textKey      = []byte(`"text":"`)
	lastChunk    = []byte(`"lastChunk":true`)
	idKey        = []byte("id: ")
	failed       = []byte(`"error":{`)
)

// answer is a JSON-RPC answer, as far as it is looked at.
type answer struct {
	ID     int
	Error  json.RawMessage
	Result struct {
		Task struct {
			ID     string
			Status struct{ State string }
			// Artifacts hold what the tool returned.
			Artifacts []struct {
				Parts []struct{ Text string }
			}
		}
		ArtifactUpdate struct {
			TaskID   string
			Artifact struct {
				Parts []struct{ Text string }
			}
		}
		StatusUpdate struct {
			TaskID string
			Status struct{ State string }
		}
	}
}

// checkTask looks at the answer to request i, whose text must be in the artifact.
func checkTask(body []byte, i int, text string) error {
	if bytes.Contains(body, failed) || !bytes.Contains(body, completed) {
		return fmt.Errorf("the answer is no completed task: %s", body)
	}
	if i%fullCheck != 0 {
		return nil
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("the answer is not JSON: %w: %s", err, body)
	}
	t := a.Result.Task
	if a.ID != i || t.ID == "" || t.Status.State != "TASK_STATE_COMPLETED" || len(t.Artifacts) != 1 ||
		len(t.Artifacts[0].Parts) != 1 || t.Artifacts[0].Parts[0].Text != text {
		return fmt.Errorf("the answer to request %d is not a completed task with the artifact %q: %s", i, text, body)
	}
	return nil
}

// checkParked looks at the answer to GetTask i, which is to be a task that waits.
func checkParked(body []byte, i int, id string) error {
	if bytes.Contains(body, failed) || !bytes.Contains(body, waits) {
		return fmt.Errorf("the answer is no task that waits for input: %s", body)
	}
	if i%fullCheck != 0 {
		return nil
	}
	var a struct {
		Result struct {
			ID     string
			Status struct{ State string }
		}
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Result.ID != id || a.Result.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		return fmt.Errorf("the answer is not task %s, waiting for input (%w): %s", id, err, body)
	}
	return nil
}

// follower checks the frames of one stream: each chunk once, in order, and its ids
// rising where ids are numbers.
type follower struct {
	want    int // chunks in all
	next    int // number of the chunk that must come
	seq     uint64
	numbers bool // ids begin with a growing number
	whole   bool // parse every frame
	done    bool // the task is completed
}

func (f *follower) frame(frame []byte) error {
	if f.numbers && bytes.HasPrefix(frame, idKey) {
		seq := uint64(0)
		for _, d := range frame[len(idKey):] {
			if d < '0' || d > '9' {
				break
			}
			seq = 10*seq + uint64(d-'0')
		}
		if seq <= f.seq {
			return fmt.Errorf("a frame has id %d after %d: %s", seq, f.seq, frame)
		}
		f.seq = seq
	}
	if at := bytes.Index(frame, textKey); at >= 0 {
		text := frame[at+len(textKey):]
		if text[0] == '"' && bytes.Contains(text, lastChunk) {
			return nil // closes the artifact, when the end was not known with its last chunk
		}
		if len(text) < chunkSize || text[chunkSize] != '"' {
			return fmt.Errorf("a chunk has not %d bytes: %s", chunkSize, frame)
		}
		n := 0
		for _, d := range text[:digits] {
			n = 10*n + int(d-'0')
		}
		if n != f.next {
			return fmt.Errorf("chunk %d came instead of chunk %d", n, f.next)
		}
		f.next++
	} else if bytes.Contains(frame, completed) || bytes.Contains(frame, completedOld) {
		f.done = true
	} else if bytes.Contains(frame, failed) {
		return fmt.Errorf("the stream has an error: %s", frame)
	}
	if f.whole {
		return f.parse(frame)
	}
	return nil
}

// parse looks at a frame's JSON as a whole.
func (f *follower) parse(frame []byte) error {
	_, data, ok := bytes.Cut(frame, []byte("data: "))
	if !ok {
		return nil // a comment
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return fmt.Errorf("a frame is not JSON: %w: %s", err, frame)
	}
	r := a.Result
	if r.Task.ID == "" && r.StatusUpdate.TaskID == "" && r.ArtifactUpdate.TaskID == "" {
		return fmt.Errorf("a frame names no task: %s", frame)
	}
	if parts := r.ArtifactUpdate.Artifact.Parts; len(parts) == 1 && parts[0].Text != "" && parts[0].Text != chunkText(f.next-1) {
		return fmt.Errorf("chunk %d is %q", f.next-1, parts[0].Text)
	}
	return nil
}

// end says what is missing when the stream is over.
func (f *follower) end() error {
	switch {
	case f.next != f.want:
		return errors.New("the stream ended after " + strconv.Itoa(f.next) + " of " + strconv.Itoa(f.want) + " chunks")
	case !f.done:
		return errors.New("the stream ended before the task was completed")
	}
	return nil
}
