package dialect

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
)

// Config says how a [Presenter] works.
type Config struct {
	// Keywords lets a text that is one keyword, such as "yes", be an answer where
	// nothing else could be meant. The zero value is off.
	Keywords bool
	// NewID makes the ids of messages. It is called concurrently. Defaults to random
	// UUIDs.
	NewID func() string
}

// Presenter gives approvals their shape on the wire, and reads answers. It has the
// methods of task.Presenter. It is safe for concurrent use and keeps nothing.
type Presenter struct {
	keywords bool
	newID    func() string
}

// New returns a Presenter.
func New(c Config) *Presenter {
	if c.NewID == nil {
		c.NewID = a2a.NewMessageID
	}
	return &Presenter{keywords: c.Keywords, newID: c.NewID}
}

// Question returns the message that asks for all of pending, in their order and in
// every dialect. no, when not nil, is a message that decided nothing: why that is, and
// what does, becomes a text part of its own, marked validation_error. Nothing is left out
// or cut for length: whoever asks bounds what can be asked.
//
// The message's JSON depends on the arguments and NewID alone. Its values are plain
// JSON values, some of which its parts share: it must not be changed. It is an error
// to ask for nothing, or for an approval whose JSON cannot be read.
func (p *Presenter) Question(pending []*approval.Approval, no *a2a.Message) (*a2a.Message, error) {
	if len(pending) == 0 {
		return nil, errors.New("ask for approval: no approval is pending")
	}
	all := make([]*shown, len(pending))
	for i, a := range pending {
		s, err := show(a)
		if err != nil {
			return nil, fmt.Errorf("ask for approval %s: %w", a.ID, err)
		}
		all[i] = s
	}

	text, err := p.text(all)
	if err != nil {
		return nil, fmt.Errorf("ask for approval: %w", err)
	}
	m := &a2a.Message{
		ID:        p.newID(),
		TaskID:    a2a.TaskID(pending[0].Task),
		ContextID: pending[0].Context,
		Role:      a2a.MessageRoleAgent,
		Parts:     a2a.ContentParts{a2a.NewTextPart(text)},
	}
	for _, s := range all {
		if part := askADK(s); part != nil {
			m.Parts = append(m.Parts, part)
		}
	}
	if no != nil {
		part := a2a.NewTextPart(p.why(no, pending))
		part.SetMeta("validation_error", true)
		m.Parts = append(m.Parts, part)
	}
	m.SetMeta(URI, askToolApproval(all))
	m.Extensions = []string{URI}
	if payload := askKagent(all); payload != nil {
		m.SetMeta(KagentURI, payload)
		m.Extensions = append(m.Extensions, KagentURI)
	}
	return m, nil
}

// Metadata returns ADK's mark. Its client for Python looks into a task or an update only
// when it is there, so that without it whatever follows an answer is lost.
func (*Presenter) Metadata() json.RawMessage { return json.RawMessage(`{"` + ADKURI + `":true}`) }
