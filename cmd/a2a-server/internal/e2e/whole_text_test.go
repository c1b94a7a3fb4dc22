package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A stream of text ends with the whole text when the configuration wants it: a client
// that keeps only the last piece has it all, and one that keeps all has it once (C5).
func TestWholeText(t *testing.T) {
	t.Parallel()
	said := strings.Repeat("every event is on the disk before anybody sees it; ", 4000)
	for _, tt := range []struct {
		name, chunks, whole string
		pieces, parts       int // of the stream (0: as it comes), of the task
		last                string
	}{
		{"off", "chunks=3 size=12", "false", 3, 3, said[24:36]},
		{"on", "chunks=3 size=12", "true", 4, 1, said[:36]},
		{"one piece", "chunks=1 size=12", "true", 0, 1, said[:12]},
		{"more than an event", "chunks=3 size=50000", "true", 3, 3, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := start(t, load(t, map[string]string{"store": "memory", "streams.whole_text": tt.whole, "limits.body": "512KiB"}))
			var text, id, last string
			pieces, closed := 0, false
			for _, line := range in.follow(t, request(t, "SendStreamingMessage", message("m", "/stream "+tt.chunks))).end(t) {
				var frame struct {
					Result struct {
						ArtifactUpdate *struct {
							TaskID            string
							Append, LastChunk bool
							Artifact          struct{ Parts []struct{ Text string } }
						}
					}
				}
				data, ok := strings.CutPrefix(line, "data: ")
				if !ok {
					continue
				}
				if err := json.Unmarshal([]byte(data), &frame); err != nil {
					t.Fatal(err)
				}
				u := frame.Result.ArtifactUpdate
				if u == nil {
					continue
				}
				if closed {
					t.Errorf("something comes after the last chunk: %s", line)
				}
				if !u.Append {
					text = ""
				}
				if last = u.Artifact.Parts[0].Text; last != "" { // a last chunk that was out already is closed by an empty one
					pieces++
				}
				text, id, closed = text+last, u.TaskID, u.LastChunk
			}
			var task taskAnswer
			in.rpc(t, "GetTask", map[string]any{"id": id}, &task)
			if len(task.Artifacts) != 1 || len(task.Artifacts[0].Parts) != tt.parts || tt.pieces > 0 && pieces != tt.pieces || !closed {
				t.Fatalf("%d pieces, closed %v, artifacts %.200v; want %d pieces, %d parts", pieces, closed, task.Artifacts, tt.pieces, tt.parts)
			}
			kept := ""
			for _, p := range task.Artifacts[0].Parts {
				kept += p.Text
			}
			if text != kept || !strings.HasPrefix(kept, said[:12]) {
				t.Errorf("the stream says %.80q, the task %.80q", text, kept)
			}
			if tt.last != "" && last != tt.last && (tt.whole == "true" || last != "") {
				t.Errorf("the last piece is %.80q, want %q", last, tt.last)
			}
		})
	}
}

// Who comes back in the middle of such a stream, before or after the server was started
// again, gets what follows, and so the whole text in any case (C5).
func TestWholeTextIsResumed(t *testing.T) {
	t.Parallel()
	config := load(t, map[string]string{"streams.whole_text": "true"})
	in := start(t, config)
	text := request(t, "SendStreamingMessage", message("m", "/stream chunks=3 size=12"))
	_, all := in.do(t, http.MethodPost, "/", text)
	frames := strings.SplitAfter(all, "\n\n")
	frames = frames[:len(frames)-1] // after the last there is nothing
	_, after, _ := strings.Cut(all, `"taskId":"`)
	id, _, _ := strings.Cut(after, `"`)
	resumed := func(in *instance) {
		t.Helper()
		for i, frame := range frames {
			last, _, ok := strings.Cut(strings.TrimPrefix(frame, "id: "), "\n")
			if !ok || last == frame {
				t.Fatalf("frame %d has no id: %q", i, frame)
			}
			want := strings.Join(frames[i+1:], "")
			if _, got := in.do(t, http.MethodPost, "/", request(t, "SubscribeToTask", map[string]any{"id": id}), "Last-Event-ID", last); got != want {
				t.Errorf("after frame %d: %q, want %q", i, got, want)
			}
		}
	}
	resumed(in)
	in.halt(t)
	resumed(start(t, config))
	if len(frames) < 6 || !strings.Contains(frames[len(frames)-2], `"lastChunk":true`) {
		t.Errorf("the stream is %q; want a task, a status, pieces, the whole text and the end", all)
	}
}
