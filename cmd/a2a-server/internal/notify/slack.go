package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"a2a-server/internal/egress"
	"a2a-server/task/notify"
)

// slack sends a message as text. It is safe for concurrent use.
type slack struct{ to *endpoint }

// NewSlack returns a sender that posts the text of messages to an incoming webhook of Slack, or of a server that takes
// the same requests. The path of the URL is the secret; the timeout of to defaults to 15 s. Its errors do not have the URL.
func NewSlack(url string, to egress.Config) (notify.Sender, error) {
	receiver, err := newEndpoint(url, to)
	if err != nil {
		return nil, err
	}
	return &slack{to: receiver}, nil
}

// slackMessage is the body of a request. No link is opened for a preview.
type slackMessage struct {
	Text        string `json:"text"`
	UnfurlLinks bool   `json:"unfurl_links"`
	UnfurlMedia bool   `json:"unfurl_media"`
}

// Send posts a message.
func (s *slack) Send(ctx context.Context, m *notify.Message) error {
	t, err := textOf(m)
	if err != nil {
		return err
	}
	content, err := json.Marshal(slackMessage{Text: t.slack()})
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return s.to.post(ctx, content, nil)
}

// slack returns the text with the markup of Slack. The values stand in a block of code: there
// neither formats nor names work, and the block ends only with backticks, which no value has.
func (t *text) slack() string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "'")
	var b strings.Builder
	b.WriteString("*" + t.lead + "*\n")
	if len(t.fields) > 0 {
		b.WriteString("```\n" + escape.Replace(t.lines()) + "```\n")
	}
	if t.link != "" {
		b.WriteString(t.page + " <" + escape.Replace(t.link) + ">\n")
	}
	b.WriteString("On the command line: `" + t.command + "`")
	return b.String()
}
