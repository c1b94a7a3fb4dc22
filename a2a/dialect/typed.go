package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// How many characters are repeated of a word that does not count, and of an error in JSON.
const (
	maxWord = 40
	maxWhy  = 200
)

// typed returns the text of a message that has nothing but text, as a person types it.
// Several parts are joined by line breaks, so that two parts cannot form one word.
func typed(m *a2a.Message) (text string, ok bool) {
	texts := make([]string, 0, len(m.Parts))
	for _, part := range m.Parts {
		if part == nil {
			return "", false
		}
		text, ok := part.Content.(a2a.Text)
		if !ok {
			return "", false
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

// readTyped reads a message that has nothing but text: the JSON of our extension, for
// clients that can only send text, or one keyword.
func readTyped(in *incoming) ([]approval.Answer, error) {
	text, ok := typed(in.message)
	if !ok {
		return nil, nil
	}
	if object := written(text); object != nil && len(in.message.Parts) == 1 {
		return in.written("message.parts[0].text", object)
	}
	verb, ok := approval.Keyword(text)
	if !ok || !in.keywords {
		return nil, nil
	}
	one, _ := approval.KeywordTarget(in.pending, verb)
	if one == nil {
		return nil, nil
	}
	return []approval.Answer{{ID: one.ID, Verb: verb}}, nil
}

// written decodes a text that is nothing but the JSON of an approval_response, or returns
// nil.
func written(text string) map[string]any {
	text = strings.Trim(text, " \t\n\v\f\r")
	if !strings.HasPrefix(text, "{") {
		return nil
	}
	v, err := strictjson.Decode([]byte(text))
	object, _ := v.(map[string]any)
	if err != nil || object["type"] != typeResponse {
		return nil
	}
	return object
}

// written reads decisions that were sent as text. The digest, which is required, proves
// that their author has seen what is asked.
func (in *incoming) written(field string, object map[string]any) ([]approval.Answer, error) {
	answers, err := in.response(field, object)
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		if answer.Digest == "" {
			return nil, in.malformed(answer.ID, approval.Violation{
				Field: fmt.Sprintf("%s.decisions[%d].digest", field, i), Description: "is required: a decision sent as text must name the digest of the approval",
			})
		}
	}
	return answers, nil
}

// words returns the keywords that would answer what is pending, "" for none.
func (p *Presenter) words(pending []*approval.Approval) string {
	var words []string
	for _, verb := range []approval.Verb{approval.Approve, approval.Reject} {
		if one, _ := approval.KeywordTarget(pending, verb); one != nil && p.keywords {
			words = append(words, string(verb))
		}
	}
	return strings.Join(words, " or ")
}

// why returns why a message has decided nothing, and how to decide.
func (p *Presenter) why(no *a2a.Message, pending []*approval.Approval) string {
	why := "This message was not understood as a decision"
	if text, ok := typed(no); ok {
		if verb, isWord := approval.Keyword(text); isWord {
			reason := "this server does not accept keywords"
			if p.keywords {
				_, reason = approval.KeywordTarget(pending, verb)
			}
			why = fmt.Sprintf("The word %s does not count: %s", visible.Shorten(visible.Line(strings.TrimSpace(text)), maxWord), reason)
		} else if slices.ContainsFunc(no.Parts, func(p *a2a.Part) bool { return written(p.Text()) != nil }) {
			why += ": a decision sent as text must be the only part of its message"
		} else if text = strings.TrimSpace(text); strings.HasPrefix(text, "{") {
			if _, err := strictjson.Decode([]byte(text)); err != nil {
				why += ": " + visible.Clip(err.Error(), maxWhy)
			}
		}
	}
	how := howTo(pending)
	why += ". " + strings.ToUpper(how[:1]) + how[1:] + "."
	if words := p.words(pending); words != "" {
		why += " The whole text " + words + " counts too."
	}
	return why
}
