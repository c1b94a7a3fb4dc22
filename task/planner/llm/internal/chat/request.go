package chat

import (
	"encoding/json"

	"a2a-server/tool"
)

// Request asks a model for the next message of a conversation.
type Request struct {
	Model       string
	Messages    []json.RawMessage // see Message; those of the assistant are Answer.Message
	Tools       []tool.Definition
	MaxTokens   int      // of the answer; 0: the server decides
	Temperature *float64 // nil: the server decides
}

// Message is a message of the conversation that is not the assistant's.
type Message struct {
	Role       string `json:"role"` // "system", "user", "tool" or, of an earlier task, "assistant"
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// Encode returns the JSON of m.
func (m Message) Encode() json.RawMessage {
	raw, err := json.Marshal(m)
	if err != nil {
		panic("encode a message: " + err.Error()) // it has only texts
	}
	return raw
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters"`
}

type toolJSON struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// EncodeTool returns the JSON of a tool in a request.
func EncodeTool(d *tool.Definition) (json.RawMessage, error) {
	parameters := d.Parameters
	if parameters == nil {
		parameters = map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return json.Marshal(toolJSON{"function", function{d.Name, d.Description, parameters}})
}

// Encode returns the body of the request.
func (r *Request) Encode() ([]byte, error) {
	body := struct {
		Model         string            `json:"model"`
		Messages      []json.RawMessage `json:"messages"`
		Tools         []json.RawMessage `json:"tools,omitempty"`
		MaxTokens     int               `json:"max_tokens,omitempty"`
		Temperature   *float64          `json:"temperature,omitempty"`
		Stream        bool              `json:"stream"`
		StreamOptions map[string]bool   `json:"stream_options"`
	}{Model: r.Model, Messages: r.Messages, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Stream: true, StreamOptions: map[string]bool{"include_usage": true}}
	for i := range r.Tools {
		raw, err := EncodeTool(&r.Tools[i])
		if err != nil {
			return nil, err
		}
		body.Tools = append(body.Tools, raw)
	}
	return json.Marshal(body)
}
