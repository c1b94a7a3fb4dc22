package a2aserver

import (
	"context"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/approval/api"
	"a2a-server/approval/web"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// sender sends the messages of the pages.
type sender struct{ engine *engine.Engine }

// Send implements [web.Sender].
func (s sender) Send(ctx context.Context, c api.Caller, m web.Message) (task, answer string, err error) {
	if err := c.By.May(auth.Create); err != nil {
		return "", "", err
	}
	sent, err := s.engine.Send(ctx, engine.Send{By: c.By, Renew: c.Renew, Message: message(m.Task, m.Context, m.Text)})
	switch {
	case err != nil:
		return "", "", err
	case sent.Direct == nil:
		return sent.Task.String(), "", nil
	}
	return "", textOf(sent.Direct), nil
}

// message returns the message of a user with a text. task or context may be "".
func message(task, context, text string) *a2a.Message {
	return &a2a.Message{
		ID: uuid.NewString(), Role: a2a.MessageRoleUser, TaskID: a2a.TaskID(task), ContextID: context, Parts: a2a.ContentParts{a2a.NewTextPart(text)},
	}
}

// textOf returns the text in the parts of a message; "" for nil.
func textOf(m *a2a.Message) string {
	var text strings.Builder
	if m != nil {
		for _, p := range m.Parts {
			text.WriteString(p.Text())
		}
	}
	return text.String()
}
