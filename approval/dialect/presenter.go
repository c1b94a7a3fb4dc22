package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/tool"
)

// Config configures a [Presenter].
type Config struct {
	// Keywords accepts a text that is a single word, such as "yes", as an answer if it can
	// mean only one approval; see [approval.ReadWord]. Defaults to false.
	Keywords bool
	// NewID returns the id of a new message. It must be safe for concurrent use. Defaults to
	// random UUIDs.
	NewID func() string
}

// Presenter writes approvals in the shapes of all dialects, and reads answers. It
// implements task.Presenter, has no state, and is safe for concurrent use.
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

// Question returns the message that asks for all of pending, in their order and in every
// dialect. no, if not nil, is a message that decided nothing: the text then begins with the
// reason, and its part is marked validation_error. Nothing is omitted or truncated: the caller
// has to limit the size of the question.
//
// The message's JSON depends only on the arguments and NewID. Its values are plain JSON
// values, and parts share some of them: it must not be changed. It is an error if pending is
// empty, or if the JSON of an approval cannot be decoded.
func (p *Presenter) Question(pending []*approval.Approval, no *a2a.Message) (*a2a.Message, error) {
	if len(pending) == 0 {
		return nil, errors.New("ask for approval: no approval is pending")
	}
	return p.Waiting(pending, nil, no)
}

// Waiting implements task.WaitPresenter: it is Question with decisions for which the agents wait that
// the task has called. Nobody answers them in the conversation of the task.
func (p *Presenter) Waiting(pending []*approval.Approval, elsewhere []tool.Waiting, no *a2a.Message) (*a2a.Message, error) {
	all := make([]*shown, len(pending))
	for i, a := range pending {
		s, err := show(a)
		if err != nil {
			return nil, fmt.Errorf("ask for approval %s: %w", a.ID, err)
		}
		switch by := (approval.Decider{By: a.Requester, Via: approval.ViaA2A, Delegated: true}); {
		case a.Away():
		case a.Requester.IsZero():
			s.options = a.Decisions()
		default:
			s.options, s.grants = a.Offers(by)
		}
		for _, other := range pending {
			if len(s.equal) < maxEqual && other != a && a.Digest != "" && other.Tool == a.Tool && other.Digest == a.Digest {
				s.equal = append(s.equal, other.ID)
			}
		}
		all[i] = s
	}

	text, err := p.text(all, elsewhere, no)
	if err != nil {
		return nil, fmt.Errorf("ask for approval: %w", err)
	}
	part := a2a.NewTextPart(text)
	if no != nil {
		part.SetMeta("validation_error", true)
	}
	m := &a2a.Message{ID: p.newID(), Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{part}}
	if len(pending) > 0 {
		m.TaskID, m.ContextID = a2a.TaskID(pending[0].Task), pending[0].Context
	}
	for _, s := range all {
		if part := askADK(s); part != nil {
			m.Parts = append(m.Parts, part)
		}
	}
	m.SetMeta(URI, askToolApproval(all, elsewhere))
	m.Extensions = []string{URI}
	if actions := askADKRust(all); actions != nil {
		m.SetMeta(adkActions, actions)
	}
	if payload := askKagent(all); payload != nil {
		m.SetMeta(KagentURI, payload)
		m.Extensions = append(m.Extensions, KagentURI)
	}
	return m, nil
}

// maxEqual is how many equal approvals a question names for each of its approvals.
const maxEqual = 20

// Metadata returns the metadata of every task and update: the mark of ADK. Without it,
// ADK's Python client ignores a task or update, and so everything after an answer.
// It must not be changed.
func (*Presenter) Metadata() json.RawMessage { return adkMark }

var adkMark = slices.Clip(json.RawMessage(`{"` + ADKURI + `":true}`))
