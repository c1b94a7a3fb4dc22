package bench

import (
	"strings"
	"testing"
)

// What the checks are for: an answer that is wrong is not counted.
func TestFollower(t *testing.T) {
	t.Parallel()
	chunk := func(id string, i int) string {
		return "id: " + id + "-ab12\ndata: {\"result\":{\"artifactUpdate\":{\"taskId\":\"t\",\"artifact\":{\"parts\":[{\"text\":\"" + chunkText(i) + "\"}]}}}}"
	}
	end := "id: 99-ab12\ndata: {\"result\":{\"statusUpdate\":{\"taskId\":\"t\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}}}"
	for _, tc := range []struct {
		name   string
		frames []string
		err    string
	}{
		{name: "as it should be", frames: []string{chunk("3", 0), chunk("7", 1), end}},
		{name: "a comment", frames: []string{": still here", chunk("3", 0), chunk("7", 1), end}},
		{name: "lost", frames: []string{chunk("3", 0), end}, err: "after 1 of 2"},
		{name: "doubled", frames: []string{chunk("3", 0), chunk("4", 0)}, err: "chunk 0 came instead of chunk 1"},
		{name: "out of order", frames: []string{chunk("3", 1)}, err: "chunk 1 came instead of chunk 0"},
		{name: "an id again", frames: []string{chunk("3", 0), chunk("3", 1)}, err: "id 3 after 3"},
		{name: "no end", frames: []string{chunk("3", 0), chunk("7", 1)}, err: "before the task was completed"},
		{name: "an error", frames: []string{`data: {"error":{"code":-32603}}`}, err: "has an error"},
		{name: "no JSON", frames: []string{"data: {"}, err: "not JSON"},
		{name: "no task", frames: []string{`data: {"result":{}}`}, err: "names no task"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := follower{want: 2, numbers: true, whole: true}
			var err error
			for _, frame := range tc.frames {
				if err = f.frame([]byte(frame)); err != nil {
					break
				}
			}
			if err == nil {
				err = f.end()
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("follower says %v, want %q", err, tc.err)
			}
		})
	}
}
