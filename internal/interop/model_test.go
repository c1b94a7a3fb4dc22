package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// A modelRequest has the messages of a conversation, in OpenAI's two formats or in Gemini's.
type modelRequest struct {
	Messages []struct {
		Role    string
		Content any
	}
	Input    any // a list of items, or a text
	Contents []struct {
		Parts []struct{ FunctionResponse *struct{ Response any } }
	}
	Stream bool
}

var (
	askedPayee = regexp.MustCompile(`(?:pay 5 to |amount=5 to=)([\w-]+)`)
	askedTool  = regexp.MustCompile(`"name": ?"(pay|bank|transfer_to_agent)"`)
)

// startModel starts an endpoint that stands for OpenAI and Gemini. Its model calls the tool that it
// has, then repeats the tool's result.
func startModel(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var asked modelRequest
		if err == nil {
			err = json.Unmarshal(raw, &asked)
		}
		payee, tool := askedPayee.FindSubmatch(raw), askedTool.FindSubmatch(raw)
		if err != nil || payee == nil {
			http.Error(w, fmt.Sprintf("%s: no payee in %s: %v", r.URL, raw, err), http.StatusBadRequest)
			return
		}
		text, name := asked.result(), ""
		if text == "" && tool != nil {
			name = string(tool[1])
		}
		arguments := map[string]any{"agent_name": "bank"}
		switch name {
		case "pay":
			arguments = map[string]any{"amount": 5, "to": string(payee[1])}
		case "bank":
			arguments = map[string]any{"request": fmt.Sprintf("/transfer_money amount=5 to=%s", payee[1])}
		}
		answerAsModel(t, w, r.URL.Path, asked.Stream, text, name, arguments)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// result returns the result of the conversation's tool, "" without one.
func (m *modelRequest) result() string {
	for _, message := range m.Messages {
		if message.Role == "tool" {
			return "The tool said: " + fmt.Sprint(message.Content)
		}
	}
	items, _ := m.Input.([]any) // a text has no results
	for _, item := range items {
		if fields, _ := item.(map[string]any); fields["type"] == "function_call_output" {
			return "The tool said: " + fmt.Sprint(fields["output"])
		}
	}
	for _, content := range m.Contents {
		for _, part := range content.Parts {
			if part.FunctionResponse != nil {
				return "The tool said: " + fmt.Sprint(part.FunctionResponse.Response)
			}
		}
	}
	return ""
}

// answerAsModel writes a text, or a call of the tool name, in the format of the path.
func answerAsModel(t *testing.T, w http.ResponseWriter, path string, stream bool, text, name string, arguments map[string]any) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Errorf("encode arguments: %v", err)
	}
	type object = map[string]any
	var body object
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		message, finish := object{"role": "assistant", "content": text}, "stop"
		if name != "" {
			finish = "tool_calls"
			message["tool_calls"] = []object{{"index": 0, "id": "call_1", "type": "function", "function": object{"name": name, "arguments": string(raw)}}}
		}
		body = object{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []object{{"index": 0, "message": message, "delta": message, "finish_reason": finish}}}
	case strings.HasSuffix(path, "/responses"):
		item := object{"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": []object{{"type": "output_text", "text": text, "annotations": []any{}}}}
		if name != "" {
			item = object{"id": "f1", "type": "function_call", "call_id": "call_1", "name": name, "arguments": string(raw), "status": "completed"}
		}
		body = object{"id": "1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": []object{item}, "tools": []any{}, "tool_choice": "auto", "parallel_tool_calls": false}
	default: // Gemini
		part := object{"text": text}
		if name != "" {
			part = object{"functionCall": object{"name": name, "args": arguments}}
		}
		body = object{"candidates": []object{{"content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP"}}}
		stream = strings.HasSuffix(path, ":streamGenerateContent")
	}
	if raw, err = json.Marshal(body); err != nil {
		t.Errorf("encode a response: %v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
		raw = []byte("data: " + string(raw) + "\n\n")
	}
	_, _ = w.Write(raw) // the client may have left
}
