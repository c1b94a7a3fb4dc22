package agenttool_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/agenttool"
)

// Chunks of data are not texts: none is merged into another.
func TestDataIsNotMerged(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.answer = func(method string, _ map[string]any) []string {
		said := func(text string) string {
			return fmt.Sprintf(`{"artifactUpdate":{"taskId":"t1","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"data":{"message":{"parts":[{"text":%q}]}}}]}}}`, text)
		}
		if method == "SendStreamingMessage" {
			return []string{`{"task": ` + child("t1", "WORKING", "") + `}`,
				`{"artifactUpdate":{"taskId":"t1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"log:"}]}}}`,
				said("pay alice"), said("pay bob"),
				`{"statusUpdate":{"taskId":"t1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`}
		}
		return nil
	}
	s := ours(t, h.URL, nil)
	done := s.Wait(s.Send("/it hello").ID, a2a.TaskStateCompleted)
	raw, err := json.Marshal(done.Artifacts)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"pay alice"`) || !strings.Contains(string(raw), `"pay bob"`) {
		t.Errorf("the agent sent two records, pay alice and pay bob; the task has %s", raw)
	}
}

// Parts within an artifact's metadata are no text of the artifact, however they look.
func TestMetadataIsNotMerged(t *testing.T) {
	t.Parallel()
	var stream strings.Builder
	for _, text := range []string{"pay alice", "pay bob"} {
		fmt.Fprintf(&stream, "data: {\"artifactUpdate\":{\"append\":true,\"artifact\":{\"artifactId\":\"a\",\"metadata\":{\"parts\":[{\"text\":%q}]}}}}\n\n", text)
	}
	got, err := io.ReadAll(agenttool.Merged(io.NopCloser(strings.NewReader(stream.String()))))
	if err != nil || string(got) != stream.String() {
		t.Errorf("the stream became %q, %v", got, err)
	}
}
