package dialect

import (
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
)

// typeCallCancel is the type of a data part that cancels a call of a task.
const typeCallCancel = "call_cancel"

// Cancels returns the ids of the calls that a message cancels, none if it cancels no call. Such
// a message says nothing else: text parts beside its data parts are remarks, and everything
// else is refused with an *approval.Error.
func (p *Presenter) Cancels(message *a2a.Message) ([]string, error) {
	if message == nil {
		return nil, nil
	}
	in := &incoming{message: message, keywords: p.keywords}
	var calls []string
	var wrong []approval.Violation
	for part := range in.dataParts() {
		if part.object["type"] != typeCallCancel {
			continue
		}
		c := &closed{field: part.field(), object: part.object}
		c.only(unknownMember, "type", "call")
		calls = append(calls, c.text("call", true /* required */))
		wrong = append(wrong, c.violations...)
	}
	if len(calls) == 0 {
		return nil, nil
	}
	parts := 0
	for i, part := range message.Parts {
		if part == nil {
			continue
		}
		if part.Data() != nil {
			parts++
		}
		typed := slices.ContainsFunc(around(part.Text()), func(text string) bool {
			_, ok := approval.ReadWord(text)
			return ok
		})
		if typed || in.nearPart(part) {
			wrong = append(wrong, approval.Violation{Field: fmt.Sprintf("message.parts[%d]", i), Description: "is a decision next to the cancel of a call: send only one of them"})
		}
	}
	if parts > len(calls) {
		wrong = append(wrong, approval.Violation{Field: "message.parts", Description: "hold more than the cancels of calls: send them alone"})
	}
	for key, v := range message.Metadata {
		switch {
		case key == approval.RemarkKey:
			wrong = append(wrong, approval.Violation{Field: metadataField(key), Description: "must be left out next to the cancel of a call: a remark cancels nothing"})
		case in.nearMetadata(key, v) || key == URI || key == KagentURI:
			wrong = append(wrong, approval.Violation{Field: metadataField(key), Description: "may be a decision next to the cancel of a call: send only one of them"})
		}
	}
	if len(wrong) > 0 {
		return nil, in.malformed("", wrong...)
	}
	return calls, nil
}
