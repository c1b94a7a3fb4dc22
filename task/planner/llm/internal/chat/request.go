package chat

import (
	"encoding/json"

	"a2a-server/tool"
)

// Request asks a model for the next message of a conversation.
type Request struct {
	Model       string            `json:"model"`
	Messages    []json.RawMessage `json:"messages"`              // see Message; those of the assistant are Answer.Message
	Tools       []json.RawMessage `json:"tools,omitempty"`       // see EncodeTool
	MaxTokens   int               `json:"max_tokens,omitempty"`  // of the answer; 0: the server decides
	Temperature *float64          `json:"temperature,omitempty"` // nil: the server decides
}

// Message is a message of the conversation that is not the assistant's.
type Message struct {
	Role       string `json:"role"` // "system", "user", "tool" or, of an earlier task, "assistant"
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters"`
}

// EncodeTool returns the JSON of a tool in a request.
func EncodeTool(d *tool.Definition) (json.RawMessage, error) {
	parameters := d.Parameters
	if parameters == nil {
		parameters = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return json.Marshal(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{d.Name, d.Description, parameters}})
}

// Encode returns the body of the request.
func (r *Request) Encode() ([]byte, error) {
	return json.Marshal(struct {
		*Request
		Stream        bool            `json:"stream"`
		StreamOptions map[string]bool `json:"stream_options"`
	}{r, true, map[string]bool{"include_usage": true}})
}
