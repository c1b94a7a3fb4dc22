package interop

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// TestOpenAI holds the planner llm to OpenAI's own library: it decodes the planner's requests, and
// reads well-formed streams alike.
func TestOpenAI(t *testing.T) {
	t.Parallel()
	llm := filepath.Join(root, "task", "planner", "llm")
	for _, dialect := range []string{"openai", "ollama", "vllm"} {
		raw, err := os.ReadFile(filepath.Join(llm, "testdata", "transcripts", dialect+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var request openai.ChatCompletionNewParams
		if err := json.Unmarshal(raw, &request); err != nil {
			t.Errorf("%s: %v", dialect, err)
			continue
		}
		results, calls := 0, 0
		for _, m := range request.Messages {
			if m.OfTool != nil && m.OfTool.ToolCallID != "" {
				results++
			}
			if m.OfAssistant != nil {
				calls += len(m.OfAssistant.ToolCalls)
			}
		}
		if request.Model != "m" || len(request.Tools) != 4 || results != 6 || calls != 6 || request.Messages[0].OfSystem == nil {
			t.Errorf("%s: the request has model %q, %d tools, %d calls and %d results", dialect, request.Model, len(request.Tools), calls, results)
		}
	}
	for _, dialect := range []string{"openai", "vllm"} {
		t.Run(dialect, func(t *testing.T) {
			readsAlike(t, filepath.Join(llm, "internal", "chat", "testdata", "streams", dialect))
		})
	}
}

// readsAlike compares what the library reads from a stream with what the planner does.
func readsAlike(t *testing.T, file string) {
	t.Helper()
	stream, err := os.ReadFile(file + ".sse")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(stream)
	}))
	defer s.Close()
	chat := openai.NewChatCompletionService(option.WithBaseURL(s.URL), option.WithHTTPClient(s.Client()), option.WithAPIKey("none"))
	events := chat.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}})
	var all openai.ChatCompletionAccumulator
	for events.Next() {
		if !all.AddChunk(events.Current()) {
			t.Error("the library refuses a chunk")
		}
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	type call struct{ ID, Name, Args any }
	answer := all.Choices[0]
	var calls []call
	for _, c := range answer.Message.ToolCalls {
		calls = append(calls, call{"", c.Function.Name, json.RawMessage(c.Function.Arguments)})
	}
	got, err := json.Marshal(map[string]any{
		"text": answer.Message.Content, "calls": calls, "finish": answer.FinishReason,
		"usage": map[string]any{"In": all.Usage.PromptTokens, "Out": all.Usage.CompletionTokens, "Cached": all.Usage.PromptTokensDetails.CachedTokens},
	})
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if err := json.Unmarshal(ours, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the library reads (-ours +library):\n%s", diff)
	}
}
