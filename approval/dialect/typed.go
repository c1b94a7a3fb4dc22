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

// How many characters are repeated of a text that does not count, and of an error in JSON.
const (
	maxWord = 40
	maxWhy  = 200
)

// typed returns the text of a message that consists of text only, as a person types it.
// Several parts are joined by line breaks, so that two parts cannot form a word.
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

// readTyped reads a message that consists of text only: the JSON of our extension, for clients
// that can only send text; the answer to a question; or a single word.
func readTyped(in *incoming) ([]approval.Decision, error) {
	text, ok := typed(in.message)
	if !ok {
		return nil, nil
	}
	if object := written(text); object != nil && len(in.message.Parts) == 1 {
		return in.written("message.parts[0].text", object)
	}
	if !in.keywords {
		return nil, nil
	}
	if one := approval.TextTarget(in.pending); one != nil && isProse(text) {
		response, err := strictjson.Plain(strings.TrimSpace(text))
		return []approval.Decision{{ID: one.ID, Type: approval.Respond, Response: response}}, err
	}
	word, ok := approval.ReadWord(text)
	if !ok {
		return nil, nil
	}
	one, _ := approval.WordTarget(in.pending, word)
	if one == nil {
		return nil, nil
	}
	return []approval.Decision{{ID: one.ID, Type: word.Type, Reason: word.Reason, Code: word.Code}}, nil
}

// isProse reports whether text can answer a question: it is not empty, and not meant as JSON.
func isProse(text string) bool {
	text, _ = unfenced(text)
	return text != "" && text[0] != '{' && text[0] != '['
}

// refusesWord returns why a word does not answer an approval that was named, "" if it does.
func (in *incoming) refusesWord(a *approval.Approval, word approval.Word) string {
	if !in.keywords {
		return noWords
	}
	return a.RefusesWord(word, true /* named */)
}

// noWords is why no word answers anything.
const noWords = "this server does not accept words"

// fence begins and ends a code fence in Markdown.
const fence = "```"

// written decodes a text that is the JSON of an approval_response, or a code fence with only
// that in it, or returns nil. Words around the fence may say the opposite, so it counts without
// any.
func written(text string) map[string]any {
	text, whole := unfenced(text)
	if !whole || !strings.HasPrefix(text, "{") {
		return nil
	}
	v, err := strictjson.Decode([]byte(text))
	object, _ := v.(map[string]any)
	if err != nil || object["type"] != typeResponse {
		return nil
	}
	return object
}

// unfenced returns the content of the only code fence of a text that has no braces outside
// it, else the text; and whether that is the whole text, but for white space and the word json
// after the backticks. Anything else there is said by the author, as in "```no".
func unfenced(text string) (content string, whole bool) {
	const space = " \t\n\v\f\r"
	whole = true
	before, rest, _ := strings.Cut(text, fence)
	if code, after, ok := strings.Cut(rest, fence); ok && !strings.Contains(after, fence) && !strings.ContainsAny(before+after, "{}") {
		text, whole = code, strings.Trim(before+after, space) == ""
		if language, code, ok := strings.Cut(text, "\n"); ok && !strings.ContainsAny(language, "{[") {
			text = code
			language = strings.Trim(language, space)
			whole = whole && (language == "" || strings.EqualFold(language, "json"))
		}
	}
	return strings.Trim(text, space), whole
}

// around returns the texts that stand outside the code fences of a text; all of it if there
// is none.
func around(text string) []string {
	var texts []string
	for i, s := range strings.Split(text, fence) {
		if i%2 == 0 {
			texts = append(texts, s)
		}
	}
	return texts
}

// written reads decisions that were sent as text, which the rules of their approvals must
// accept. The digest, which is required, proves that the author has seen the question.
func (in *incoming) written(field string, object map[string]any) ([]approval.Decision, error) {
	answers, err := in.response(field, object)
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		if answer.Grant != nil {
			return nil, in.wrong(answer.ID, fmt.Sprintf("%s.decisions[%d].grant", field, i), "must be left out: no text makes a grant; send the decision as data")
		}
		if a, err := approval.Find(answer, in.approvals); err == nil && a.State == approval.Pending && a.RefusesText() != "" {
			return nil, approval.NotAllowed(a, a.RefusesText()+"; "+howTo(in.approvals))
		}
		if answer.Digest == "" {
			return nil, in.wrong(answer.ID, fmt.Sprintf("%s.decisions[%d].digest", field, i), "is required: a decision sent as text must name the digest of the approval")
		}
	}
	return answers, nil
}

// toType returns the first sentence of a question: the words that decide the pending
// approvals.
func (p *Presenter) toType(pending []*approval.Approval) string {
	yes, why := p.typedWord(pending, approval.Approve, "yes", "approve")
	no, whyNot := p.typedWord(pending, approval.Reject, "no", "no")
	if no != "" {
		no = fmt.Sprintf(`type "%[1]s" or "%[1]s: reason"`, no)
	}
	switch {
	case p.keywords && approval.TextTarget(pending) != nil:
		return "To answer, type the answer."
	case yes != "" && no != "":
		return fmt.Sprintf(`To approve, type %q; to reject, %s.`, yes, no)
	case yes != "":
		return fmt.Sprintf(`To approve, type %q; %s.`, yes, whyNot)
	case no != "":
		return fmt.Sprintf("To reject, %s; %s.", no, why)
	}
	if open := answerable(pending); len(open) == 0 || open[0].RefusesText() != "" {
		return fmt.Sprintf("Nothing can be typed here: %s.", why)
	}
	return fmt.Sprintf("To answer, send JSON as at the end of this text; no word counts: %s.", why)
}

// typedWord returns what to type for a decision about the pending approvals: bare, or coded and the
// code of the approval. "": nothing, and why.
func (p *Presenter) typedWord(pending []*approval.Approval, decision approval.DecisionType, bare, coded string) (typed, why string) {
	word := approval.Word{Type: decision}
	one, why := p.wordTarget(pending, word)
	if one != nil {
		return bare, ""
	}
	if len(pending) > 0 && pending[0].Code != "" {
		word.Code = pending[0].Code
		if one, why = p.wordTarget(pending, word); one != nil {
			return coded + " " + word.Code, ""
		}
	}
	return "", why
}

// wordTarget is [approval.WordTarget] with the setting of the server.
func (p *Presenter) wordTarget(pending []*approval.Approval, word approval.Word) (one *approval.Approval, why string) {
	if one, why = approval.WordTarget(pending, word); one != nil && !p.keywords {
		return nil, noWords
	}
	return one, why
}

// why returns why a message has decided nothing.
func (p *Presenter) why(no *a2a.Message, pending []*approval.Approval) string {
	in := p.incoming(no, pending)
	if answers, err := in.answers(); err == nil {
		for _, answer := range answers {
			if a, err := approval.Find(answer, pending); err == nil && a.WrongCode(answer) {
				return fmt.Sprintf("The code %s is wrong, so nothing is decided; %d of %d wrong codes have been typed.", answer.Code, a.WrongCodes, approval.MaxWrongCodes)
			}
		}
	}
	if len(in.continued) > 0 {
		return "This message decides nothing yet: it says will_continue. Send the whole decision, without it."
	}
	if no.Metadata[approval.RemarkKey] != nil {
		return "This message decides nothing: it is marked as a remark."
	}
	text, ok := typed(no)
	if !ok {
		return "This message decides nothing: no part of it is a decision in a known shape."
	}
	why := "it is not exactly one of the answers"
	word, isWord := approval.ReadWord(text)
	text = strings.TrimSpace(text)
	switch verb := approval.DecisionType(strings.ToLower(strings.TrimRight(text, ".!"))); {
	case isWord:
		_, why = p.wordTarget(pending, word)
	case verb == approval.Cancel:
		why = `it would end the whole task; to do that, cancel the task, or send JSON with the decision "cancel"`
	case verb == approval.Edit:
		why = `it needs the new arguments; send JSON with the decision "edit" and all "arguments"`
	case verb == approval.Respond:
		why = `it needs the response; send JSON with the decision "respond" and the "response"`
	case slices.ContainsFunc(no.Parts, func(p *a2a.Part) bool { text, _ := unfenced(p.Text()); return written(text) != nil }):
		why = "a decision in JSON must be all that its message says"
	case strings.HasPrefix(text, "{"):
		if _, err := strictjson.Decode([]byte(text)); err != nil {
			why = visible.Clip(err.Error(), maxWhy)
		}
	}
	return fmt.Sprintf("%s decides nothing: %s.", visible.Shorten(`"`+visible.Line(text)+`"`, maxWord), why)
}
