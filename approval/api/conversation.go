package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

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
		History []message `json:"history"`
		Status  struct {
			Message *message `json:"message"`
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
		asks, about := t.History[i].asks()
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

// message is a message of A2A.
type message struct {
	MessageID string                     `json:"messageId"`
	Role      string                     `json:"role"`
	Parts     []json.RawMessage          `json:"parts"`
	Metadata  map[string]json.RawMessage `json:"metadata"`
}

// asks reports whether m asks for decisions, and about which approvals.
func (m *message) asks() (asks bool, approvals []string) {
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
func (m *message) text() (out client.Message, ok bool) {
	out = client.Message{Role: "agent", ID: m.MessageID}
	if m.Role == roleUser {
		out.Role = "user"
	}
	var texts []string
	for _, raw := range m.Parts {
		if text, answer := partText(raw); !answer {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 && len(m.Parts) > 0 {
		return out, false
	}
	out.Text = strings.Join(texts, "\n")
	if len(out.Text) > maxText {
		cut := maxText
		for cut > 0 && !utf8.RuneStart(out.Text[cut]) {
			cut--
		}
		out.Cut = len(out.Text) - cut
		out.Text = out.Text[:cut]
	}
	return out, true
}

// partText returns a part of a message as text, and whether it is an answer about approvals, which
// is shown elsewhere.
func partText(raw json.RawMessage) (text string, answer bool) {
	var p struct {
		Text      *string         `json:"text"`
		Data      json.RawMessage `json:"data"`
		Raw       []byte          `json:"raw"`
		URL       string          `json:"url"`
		Filename  string          `json:"filename"`
		MediaType string          `json:"mediaType"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return string(raw), false
	}
	switch {
	case p.Text != nil:
		return *p.Text, false
	case len(p.Data) > 0:
		var kind struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(p.Data, &kind) // any other data has no type of ours
		return string(p.Data), kind.Type == "approval_response"
	case p.URL != "":
		return fmt.Sprintf("[file %s %s at %s]", p.Filename, p.MediaType, p.URL), false
	}
	return fmt.Sprintf("[file %s %s, %d bytes]", p.Filename, p.MediaType, len(p.Raw)), false
}
