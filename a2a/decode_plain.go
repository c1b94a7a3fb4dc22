package a2a

import (
	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/strictjson"
)

// decodePlain decodes the parameters of an ordinary send: the usual names, valid values,
// and parts that are text or data. ok is false for everything else, valid or not, which
// protojson decodes. What it accepts, protojson decodes to the same value at three times
// the cost.
func decodePlain(raw checked) (req *sdk.SendMessageRequest, ok bool) {
	params, err := strictjson.DecodeObject(raw)
	if err != nil {
		return nil, false
	}
	req = &sdk.SendMessageRequest{}
	for name, value := range params {
		switch name {
		case "message":
			req.Message, ok = plainMessage(value)
		case "configuration":
			req.Config, ok = plainConfig(value)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return req, req.Message != nil
}

func plainMessage(value any) (m *sdk.Message, ok bool) {
	fields, _ := value.(map[string]any)
	m = &sdk.Message{}
	for name, value := range fields {
		var text string
		switch name {
		case "messageId":
			m.ID, ok = value.(string)
		case "contextId":
			m.ContextID, ok = value.(string)
		case "taskId":
			text, ok = value.(string)
			m.TaskID = sdk.TaskID(text)
		case "role":
			m.Role, ok = sdk.MessageRoleUser, value == string(sdk.MessageRoleUser)
		case "parts":
			m.Parts, ok = plainParts(value)
		case "metadata":
			m.Metadata, ok = value.(map[string]any)
			ok = ok && len(m.Metadata) > 0
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return m, m.ID != "" && m.Role != "" && len(m.Parts) > 0
}

func plainParts(value any) (sdk.ContentParts, bool) {
	list, _ := value.([]any)
	if len(list) > maxParts {
		return nil, false
	}
	parts := make(sdk.ContentParts, len(list))
	for i, value := range list {
		fields, _ := value.(map[string]any)
		p := &sdk.Part{}
		for name, value := range fields {
			switch value := value.(type) {
			case string:
				if name != "text" || p.Content != nil {
					return nil, false
				}
				p.Content = sdk.Text(value)
			case map[string]any:
				switch {
				case name == "data" && p.Content == nil:
					p.Content = sdk.Data{Value: value}
				case name == "metadata" && len(value) > 0:
					p.Metadata = value
				default:
					return nil, false
				}
			default:
				return nil, false
			}
		}
		if p.Content == nil {
			return nil, false
		}
		parts[i] = p
	}
	return parts, true
}

func plainConfig(value any) (*sdk.SendMessageConfig, bool) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	c := &sdk.SendMessageConfig{}
	for name, value := range fields {
		switch name {
		case "returnImmediately":
			c.ReturnImmediately, ok = value.(bool)
		case "historyLength":
			var n float64
			n, ok = value.(float64)
			length := int(n)
			c.HistoryLength, ok = &length, ok && n >= 0 && n <= 1<<20 && float64(length) == n
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return c, true
}
