package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// maxRequest bounds a request, in bytes.
const maxRequest = 4 << 20

// An order is a sentence that the scripted model understands, and the call that it makes of it.
type order struct {
	words *regexp.Regexp
	tool  string
	args  func(m []string) any // of the submatches of words
}

type transfer struct {
	Amount json.Number `json:"amount"`
	To     string      `json:"to"`
}

// orders returns the sentences, the most exact first.
func orders() []order {
	return []order{
		{regexp.MustCompile(`(?i)\b(?:transfer|pay|send) ([1-9]\d{0,8}) to (\w+)`), transferTool, func(m []string) any { return transfer{json.Number(m[1]), m[2]} }},
		{regexp.MustCompile(`(?i)\b(?:pay|send) (\w+) ([1-9]\d{0,8})`), transferTool, func(m []string) any { return transfer{json.Number(m[2]), m[1]} }},
		{regexp.MustCompile(`(?i)\bsay (.{1,200})`), "echo", func(m []string) any { return map[string]string{"text": m[1]} }},
	}
}

// Complete is a [http.HandlerFunc] that stands in for a language model: an endpoint of chat
// completions, at /v1/chat/completions, that follows a script. It calls a tool when it is asked to,
// such as with "pay alice 250", then says what came of it.
func Complete(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&asked)
	if err != nil || r.URL.Path != "/v1/chat/completions" || len(asked.Messages) == 0 {
		http.Error(w, `{"error": {"message": "post a conversation to /v1/chat/completions"}}`, http.StatusBadRequest)
		return
	}
	last := asked.Messages[len(asked.Messages)-1]
	delta, finish := map[string]any{"content": `I only follow a script: say "pay alice 250", "transfer 250 to alice" or "say hello".`}, "stop"
	if last.Role == "tool" {
		delta["content"] = "The tool says: " + strings.TrimSpace(last.Content)
	} else if call := callOf(last.Content); call != nil {
		delta = map[string]any{"content": "I will do that. ", "tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprintf("call_%d", len(asked.Messages)), "type": "function", "function": call}}}
		finish = "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": finish}} {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", encoded(map[string]any{"model": "script", "choices": []any{choice}})) // the client may have left
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// callOf returns the function call that a message asks for; nil: none.
func callOf(text string) map[string]any {
	for _, o := range orders() {
		if m := o.words.FindStringSubmatch(text); m != nil {
			return map[string]any{"name": o.tool, "arguments": encoded(o.args(m))}
		}
	}
	return nil
}

// encoded returns the JSON of a value that is made of texts and numbers.
func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // it has nothing else
	}
	return string(raw)
}
