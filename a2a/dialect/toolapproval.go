package dialect

import (
	"fmt"
	"slices"

	"a2a-server/approval"
)

// The types of the payloads of our extension.
const (
	typeRequest  = "approval_request"
	typeResponse = "approval_response"
)

// askToolApproval is the question in our extension.
func askToolApproval(all []*shown) map[string]any {
	approvals := make([]any, len(all))
	for i, s := range all {
		approvals[i] = s.request()
	}
	return map[string]any{"type": typeRequest, "approvals": approvals}
}

func (s *shown) request() map[string]any {
	verbs := s.Verbs()
	options := make([]any, len(verbs))
	for i, v := range verbs {
		options[i] = string(v)
	}
	onExpiry := s.Terms.OnExpiry
	if onExpiry == "" {
		onExpiry = approval.ExpiryRejects
	}
	r := map[string]any{
		"id":          s.ID,
		"kind":        string(s.Kind),
		"call":        s.Call,
		"tool":        map[string]any{"name": s.Tool},
		"arguments":   s.args,
		"digest":      s.Digest,
		"summary":     s.hint,
		"options":     options,
		"requestedAt": stamp(s.Asked),
		"onExpiry":    string(onExpiry),
	}
	if s.schema != nil {
		r["schema"] = s.schema
	}
	if s.Deadline != nil {
		r["expiresAt"] = stamp(*s.Deadline)
	}
	if s.Terms.Destructive {
		r["destructive"] = true
	}
	if s.Terms.FourEyes {
		r["fourEyes"] = true
	}
	if s.Elsewhere() {
		r["elsewhere"] = true // the options are not for who asked
	}
	if s.Supersedes != "" {
		r["supersedes"] = s.Supersedes
	}
	return r
}

// readToolApproval reads approval_response from the message's metadata and its data
// parts. The extension is ours, so its shape is strict.
func readToolApproval(in *incoming) ([]approval.Answer, error) {
	var all []approval.Answer
	if v, ok := in.message.Metadata[URI]; ok {
		field := "message.metadata[" + URI + "]"
		object, ok := v.(map[string]any)
		if !ok {
			return nil, in.malformed("", approval.Violation{Field: field, Description: "must be an object"})
		}
		switch object["type"] {
		case typeResponse:
			answers, err := in.response(field, object)
			if err != nil {
				return nil, err
			}
			all = answers
		case typeRequest: // the question, sent back: no decision
		default:
			return nil, in.malformed("", approval.Violation{Field: field + ".type", Description: "must be " + typeResponse})
		}
	}
	for part := range in.dataParts() {
		if part.object["type"] != typeResponse {
			continue
		}
		answers, err := in.response(part.field, part.object)
		if err != nil {
			return nil, err
		}
		all = append(all, answers...)
	}
	return all, nil
}

func (in *incoming) response(field string, object map[string]any) ([]approval.Answer, error) {
	s := &strict{field: field, object: object}
	s.only("type", "decisions")
	list, ok := object["decisions"].([]any)
	if !ok || len(list) == 0 {
		s.bad("decisions", "must be an array with at least one decision")
	}
	if len(list) > MaxDecisions {
		return nil, in.tooMany(field+".decisions", len(list))
	}
	wrong, id := s.violations, ""
	answers := make([]approval.Answer, 0, len(list))
	for i, v := range list {
		field := fmt.Sprintf("%s.decisions[%d]", field, i)
		object, ok := v.(map[string]any)
		if !ok {
			wrong = append(wrong, approval.Violation{Field: field, Description: "must be an object"})
			continue
		}
		answer, violations := decision(field, object)
		if len(violations) > 0 && len(wrong) == 0 {
			id = answer.ID
		}
		wrong = append(wrong, violations...)
		answers = append(answers, answer)
	}
	if len(wrong) > 0 {
		return nil, in.malformed(id, wrong...)
	}
	for i, answer := range answers {
		if len(in.named(answer.ID)) == 0 {
			return nil, in.unknown(fmt.Sprintf("%s.decisions[%d].id", field, i), answer.ID)
		}
	}
	return answers, nil
}

func decision(field string, object map[string]any) (approval.Answer, []approval.Violation) {
	s := &strict{field: field, object: object}
	s.only("id", "decision", "arguments", "response", "reason", "digest")
	answer := approval.Answer{
		ID:     s.text("id", true /* required */),
		Verb:   approval.Verb(s.text("decision", true /* required */)),
		Reason: s.text("reason", false /* required */),
		Digest: s.text("digest", false /* required */),
	}
	arguments, edits := object["arguments"]
	response, responds := object["response"]
	known := []approval.Verb{approval.Approve, approval.Edit, approval.Reject, approval.Respond, approval.Cancel}
	if answer.Verb != "" && !slices.Contains(known, answer.Verb) {
		s.bad("decision", "must be one of approve, edit, reject, respond and cancel")
		return answer, s.violations
	}
	if edits != (answer.Verb == approval.Edit) {
		s.bad("arguments", "must be there with edit, and only there: all arguments, as they are to be")
	} else if _, ok := arguments.(map[string]any); edits && !ok {
		s.bad("arguments", "must be an object")
	}
	if responds != (answer.Verb == approval.Respond) {
		s.bad("response", "must be there with respond, and only there")
	}
	var err error
	if edits {
		if answer.Args, err = encode(arguments); err != nil {
			s.bad("arguments", "cannot be written as JSON")
		}
	}
	if responds {
		if answer.Response, err = encode(response); err != nil {
			s.bad("response", "cannot be written as JSON")
		}
	}
	return answer, s.violations
}

// strict reads an object of known fields, and collects what is wrong with it.
type strict struct {
	field      string
	object     map[string]any
	violations []approval.Violation
}

func (s *strict) bad(name, description string) {
	s.violations = append(s.violations, approval.Violation{Field: s.field + "." + name, Description: description})
}

// only refuses all fields but these.
func (s *strict) only(names ...string) {
	var extra []string
	for name := range s.object {
		if !slices.Contains(names, name) {
			extra = append(extra, name)
		}
	}
	slices.Sort(extra)
	for _, name := range extra {
		shown := []rune(oneLine(name))
		if len(shown) > 64 {
			shown = append(shown[:64], '…')
		}
		s.bad(string(shown), "is not a field of this extension")
	}
}

func (s *strict) text(name string, required bool) string {
	v, ok := s.object[name]
	if !ok && !required {
		return ""
	}
	text, ok := v.(string)
	if !ok || text == "" && required {
		s.bad(name, "must be a string that is not empty")
	}
	return text
}
