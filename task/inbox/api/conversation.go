package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"a2a-server/client"
)

const (
	maxMessages = 20
	maxText     = 8 << 10 // bytes of a message that are shown
	roleUser    = "ROLE_USER"
)

// conversation returns the newest messages of an A2A Task that came before an approval was
// requested, and those of the client since, oldest first, without the server's own questions about
// approvals, and the number of earlier messages.
func conversation(approvalID string, a2aTask []byte) (shown []client.Message, earlier int) {
	var t struct {
		History []Message `json:"history"`
		Status  struct {
			Message *Message `json:"message"`
		} `json:"status"`
	}
	shown = []client.Message{}
	if json.Unmarshal(a2aTask, &t) != nil {
		return shown, 0
	}
	if t.Status.Message != nil {
		t.History = append(t.History, *t.Status.Message)
	}
	asked := false
	for i := range t.History {
		asks, about := t.History[i].Asks()
		asked = asked || slices.Contains(about, approvalID)
		if asks || asked && t.History[i].Role != roleUser {
			continue
		}
		if one, ok := t.History[i].text(); ok {
			shown = append(shown, one)
		}
	}
	if earlier = len(shown) - maxMessages; earlier <= 0 {
		return shown, 0
	}
	return slices.Clone(shown[earlier:]), earlier
}

// Message is a message of A2A.
type Message struct {
	ID       string                     `json:"messageId"`
	Role     string                     `json:"role"`
	Parts    []Part                     `json:"parts"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

// Part is a part of a message or an artifact of A2A.
type Part struct {
	Text      *string         `json:"text"`
	Data      json.RawMessage `json:"data"`
	Raw       []byte          `json:"raw"`
	URL       string          `json:"url"`
	Filename  string          `json:"filename"`
	MediaType string          `json:"mediaType"`
}

// Asks reports whether m asks for decisions, and about which approvals.
func (m *Message) Asks() (asks bool, approvals []string) {
	if m.Role == roleUser {
		return false, nil // whatever it says
	}
	for _, raw := range m.Metadata {
		var question struct {
			Type      string `json:"type"`
			Approvals []struct {
				ID string `json:"id"`
			} `json:"approvals"`
		}
		if json.Unmarshal(raw, &question) != nil || question.Type != "approval_request" {
			continue // of another client
		}
		for _, a := range question.Approvals {
			approvals = append(approvals, a.ID)
		}
		return true, approvals
	}
	return false, nil
}

// text returns m as text without answers about approvals, unless there is nothing else in it.
func (m *Message) text() (out client.Message, ok bool) {
	out = client.Message{Role: "agent", ID: m.ID}
	if m.Role == roleUser {
		out.Role = "user"
	}
	var texts []string
	for _, p := range m.Parts {
		if !p.Answers() {
			texts = append(texts, p.text())
		}
	}
	if len(texts) == 0 && len(m.Parts) > 0 {
		return out, false
	}
	out.Text = strings.Join(texts, "\n")
	if whole := len(out.Text); whole > maxText {
		out.Text = strings.ToValidUTF8(out.Text[:maxText], "")
		out.Cut = whole - len(out.Text)
	}
	return out, true
}

// Answers reports whether p is an answer about approvals, which pages show elsewhere.
func (p Part) Answers() bool {
	var kind struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(p.Data, &kind) == nil && kind.Type == "approval_response"
}

// text returns p as text.
func (p Part) text() string {
	switch {
	case p.Text != nil:
		return *p.Text
	case len(p.Data) > 0:
		return string(p.Data)
	case p.URL != "":
		return fmt.Sprintf("[file %s %s at %s]", p.Filename, p.MediaType, p.URL)
	}
	return fmt.Sprintf("[file %s %s, %d bytes]", p.Filename, p.MediaType, len(p.Raw))
}
