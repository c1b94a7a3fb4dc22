package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// The types of the payloads of our extension.
const (
	typeRequest  = "approval_request"
	typeResponse = "approval_response"
)

// unknownMember describes a member that an extension does not have.
const unknownMember = "is not a field of this extension"

// askToolApproval returns the question in our extension.
func askToolApproval(all []*shown, elsewhere []tool.Waiting) map[string]any {
	q := map[string]any{"type": typeRequest, "approvals": values(all, func(s *shown) any { return s.request() })}
	away := slices.DeleteFunc(slices.Clone(all), func(s *shown) bool { return !s.Away() })
	if len(away)+len(elsewhere) > 0 {
		q["elsewhere"] = append(values(away, func(s *shown) any { return s.elsewhere() }), values(elsewhere, awaits)...)
	}
	return q
}

// awaits returns the entry of a decision for which an agent waits.
func awaits(w tool.Waiting) any {
	e := map[string]any{"id": w.ID, "agent": visible.Line(w.Agent), "since": stamp(w.Since), "waitsFor": visible.Line(waitsFor(w))}
	if !w.Expires.IsZero() {
		e["expires"] = stamp(w.Expires)
	}
	return e
}

func waitsFor(w tool.Waiting) string { return cmp.Or(w.WaitsFor, "another person") }

// elsewhere returns the entry of an approval for which its client only waits.
func (s *shown) elsewhere() any {
	e := map[string]any{"id": s.ID, "since": stamp(s.Asked), "waitsFor": s.Awaited()}
	if s.Deadline != nil {
		e["expires"] = stamp(*s.Deadline)
	}
	return e
}

func (s *shown) request() map[string]any {
	r := map[string]any{
		"id":          s.ID,
		"kind":        string(s.Kind),
		"call":        s.Call,
		"tool":        s.tool(),
		"arguments":   s.args,
		"digest":      s.Digest,
		"summary":     s.hint,
		"options":     values(s.options, func(v approval.DecisionType) any { return string(v) }),
		"requestedAt": stamp(s.Asked),
		"onExpiry":    string(cmp.Or(s.Terms.OnExpiry, approval.ExpiryRejects)),
	}
	if !s.Requester.IsZero() {
		r["requestedBy"] = s.Requester.Subject
	}
	if len(s.Requester.Chain) > 0 {
		r["requestedThrough"] = values(s.Requester.Chain, func(subject string) any { return subject })
	}
	if s.schema != nil {
		r["schema"] = s.schema
	}
	if s.AskKind != "" && s.Kind != approval.KindQuestion && s.payload != nil {
		r["payload"] = s.payload // what is approved, and what an edit replaces
	}
	if s.Deadline != nil {
		r["expiresAt"] = stamp(*s.Deadline)
	}
	for name, is := range map[string]bool{"destructive": s.Terms.Destructive, "noText": s.Terms.NoText, "fourEyes": s.Terms.FourEyes, "elsewhere": s.Away()} {
		if is {
			r[name] = true
		}
	}
	if s.grants {
		r["grants"] = grantTerms(s.Terms.Grants)
	}
	if t := s.Tally(); t != nil {
		r["votes"] = map[string]any{"have": float64(t.Have), "need": float64(t.Need), "missing": t.Missing}
	}
	if len(s.equal) > 0 {
		r["equalTo"] = values(s.equal, func(id string) any { return id })
	}
	if s.Supersedes != "" {
		r["supersedes"] = s.Supersedes
	}
	return r
}

// grantTerms returns the grants that an approve may make, with the members of the approvals API.
func grantTerms(t *approval.GrantTerms) map[string]any {
	g := map[string]any{
		"scopes":  values(t.Scopes, func(scope approval.GrantScope) any { return string(scope) }),
		"seconds": t.Longest().Seconds(),
	}
	if t.Uses > 0 {
		g["uses"] = float64(t.Uses)
	}
	if len(t.Vary) > 0 {
		g["vary"] = values(t.Vary, func(pointer string) any { return pointer })
	}
	return g
}

// tool returns the name of the tool and its description of itself.
func (s *shown) tool() map[string]any {
	t := map[string]any{"name": s.Tool}
	if s.About == nil {
		return t
	}
	if s.About.Description != "" {
		t["description"] = visible.Line(s.About.Description)
	}
	if len(s.About.Declared) > 0 {
		t["declared"] = values(s.About.Declared, line)
	}
	if len(s.About.Claimed) > 0 {
		t["claimed"] = values(s.About.Claimed, line)
	}
	return t
}

// line returns a text as a value of JSON, with invisible characters escaped.
func line(text string) any { return visible.Line(text) }

// values returns a list of values.
func values[T, U any](all []T, value func(T) U) []U {
	list := make([]U, len(all))
	for i, v := range all {
		list[i] = value(v)
	}
	return list
}

// readToolApproval reads approval_response from the message's metadata. The extension is
// ours, so its shape is strict, here and in data parts.
func readToolApproval(in *incoming) ([]approval.Decision, error) {
	c, err := in.payload(URI)
	if c == nil || err != nil {
		return nil, err
	}
	switch c.object["type"] {
	case typeResponse:
		return in.response(c.field, c.object)
	case typeRequest: // the question, sent back: no decision
		return nil, nil
	}
	return nil, in.wrong("", c.field+".type", "must be "+typeResponse)
}

// readResponse reads approval_response from a data part.
func readResponse(in *incoming, part dataPart) ([]approval.Decision, error) {
	return in.response(part.field(), part.object)
}

func (in *incoming) response(field string, object map[string]any) ([]approval.Decision, error) {
	c := &closed{field: field, object: object}
	c.only(unknownMember, "type", "decisions")
	list, ok := object["decisions"].([]any)
	if !ok || len(list) == 0 {
		c.bad("decisions", "must be an array with at least one decision")
	}
	if len(list) > MaxDecisions {
		return nil, in.tooMany(field+".decisions", len(list))
	}
	wrong, id := c.violations, ""
	answers := make([]approval.Decision, 0, len(list))
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
		if _, err := approval.Find(answer, in.approvals); err != nil {
			return nil, in.misnamed(fmt.Sprintf("%s.decisions[%d].id", field, i), err)
		}
	}
	return answers, nil
}

func decision(field string, object map[string]any) (approval.Decision, []approval.Violation) {
	c := &closed{field: field, object: object}
	c.only(unknownMember, "id", "decision", "arguments", "response", "reason", "digest", "grant")
	answer := approval.Decision{
		ID:     c.text("id", true /* required */),
		Type:   approval.DecisionType(c.text("decision", true /* required */)),
		Reason: c.text("reason", false /* required */),
	}
	// Without a digest, any version of the approval is meant; an empty digest is a mistake of
	// the sender.
	if _, ok := c.has("digest"); ok {
		answer.Digest = c.text("digest", true /* required */)
	}
	if grant, ok := c.has("grant"); ok {
		var wrong []approval.Violation
		answer.Grant, wrong = grantRequest(field+".grant", grant)
		c.violations = append(c.violations, wrong...)
	}
	known := []approval.DecisionType{approval.Approve, approval.Edit, approval.Reject, approval.Respond, approval.Cancel}
	if answer.Type != "" && !slices.Contains(known, answer.Type) {
		c.bad("decision", "must be one of approve, edit, reject, respond and cancel")
		return answer, c.violations
	}
	arguments, edits := c.has("arguments")
	response, responds := c.has("response")
	if answer.Type == approval.Respond {
		_, responds = object["response"] // null is an answer like any other
	}
	if edits != (answer.Type == approval.Edit) {
		c.bad("arguments", "is required with edit, and only allowed there: the complete new arguments")
	} else if _, ok := arguments.(map[string]any); edits && !ok {
		c.bad("arguments", "must be an object")
	}
	if responds != (answer.Type == approval.Respond) {
		c.bad("response", "is required with respond, and only allowed there")
	}
	var err error
	if edits {
		if answer.Args, err = strictjson.Plain(arguments); err != nil {
			c.bad("arguments", "cannot be written as JSON")
		}
	}
	if responds {
		if answer.Response, err = strictjson.Plain(response); err != nil {
			c.bad("response", "cannot be written as JSON")
		}
	}
	return answer, c.violations
}

// grantRequest reads the member grant of a decision, as the approvals API has it.
func grantRequest(field string, v any) (*approval.GrantRequest, []approval.Violation) {
	object, is := v.(map[string]any)
	if !is {
		return nil, []approval.Violation{{Field: field, Description: "must be an object"}}
	}
	c := &closed{field: field, object: object}
	c.only(unknownMember, "scope", "seconds", "uses", "exact")
	g := &approval.GrantRequest{
		Scope: approval.GrantScope(c.text("scope", true /* required */)),
		For:   time.Duration(c.whole("seconds")) * time.Second,
		Uses:  c.whole("uses"),
		Exact: c.flag("exact"),
	}
	return g, c.violations
}
