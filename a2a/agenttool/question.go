package agenttool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// ask returns the suspension that asks the questions of the child.
func (r *run) ask() error {
	m := r.view.status.Message
	asked, err := dialect.ReadAsked(m)
	if err != nil {
		return r.where(fmt.Errorf("it asks a question that cannot be read: %s", visible.Clip(err.Error(), maxError)))
	}
	id := ""
	if m != nil {
		id = m.ID
	}
	var all []question
	var asks []tool.Question
	for i := range asked {
		q := r.questionOf(&asked[i], id)
		all = append(all, question{Ask: q.ID, Kind: q.Kind, Asked: asked[i], Shown: shownOf(&asked[i])})
		asks = append(asks, q)
	}
	same := func(a, b question) bool { return a.Ask == b.Ask && a.Shown == b.Shown }
	if id != r.state.Status || !slices.EqualFunc(all, r.state.Asked, same) {
		r.state.Round++
		r.state.Status, r.state.Polls = id, 0
	}
	if r.state.Round > maxRounds {
		return r.where(fmt.Errorf("it keeps asking; it has asked %d times", maxRounds))
	}
	r.state.Asked, r.state.Answer, r.state.Since = all, nil, time.Time{}
	return r.suspend(asks, nil)
}

// questionOf returns a question of the child as people are asked it here.
func (r *run) questionOf(a *dialect.Asked, status string) tool.Question {
	// An agent may ask for a confirmation in words.
	q := tool.Question{ID: askID(a, status), Kind: tool.AskQuestion, OfCall: true, NoText: a.NoText}
	hint := visible.ClipText(a.Summary, maxSummary)
	if hint == "" {
		hint = "it does not say what for"
	}
	q.Hint = "Agent " + r.Name() + " asks: " + hint
	refused, wasRefused := r.state.Refused[a.ID]
	switch {
	case a.Elsewhere, a.ID == "" && r.view.status.State == a2a.TaskStateAuthRequired:
		q.Kind = tool.AskAuth
		q.Hint = "Agent " + r.Name() + " waits for a decision that is made there: " + hint
	case wasRefused && !strings.HasPrefix(refused, editRefused):
		q.Kind = tool.AskAuth
		q.Hint += "\nThe agent refused the answer, so it has to be answered there: " + refused
	case a.Kind == approval.KindCall, a.Kind == approval.KindOutcome:
		q.Kind, q.Destructive = tool.AskConfirm, a.Destructive
		payload := r.payloadOf(a)
		q.Payload = payload
		switch {
		case a.Kind == approval.KindOutcome || payload["kind"] == string(approval.KindOutcome):
			q.Kind, q.TakesResponse = tool.AskOutcome, slices.Contains(a.Options, approval.Respond)
			other := ". The agent takes no other answer."
			if q.TakesResponse {
				other = "; a response is its result."
			}
			q.Hint += "\nApproved, the call of the agent runs again; rejected, it is given up" + other
		case slices.Contains(a.Options, approval.Edit) && a.Arguments != nil:
			q.Schema = map[string]any{"type": "object"}
		}
		if wasRefused {
			q.Hint += "\nThe agent refused the last answer" + strings.TrimPrefix(refused, editRefused)
		}
	case a.Schema != nil:
		if _, err := tool.CompileSchema(a.Schema); err == nil {
			q.Kind, q.Schema = tool.AskForm, a.Schema
		}
	}
	return q
}

// editRefused begins the note about an edit that the agent refused: people may try again.
const editRefused = ": "

// payloadOf returns what a confirmation shows: the call that waits at the agent, or at an agent
// behind it, with the calls through which it was reached: the agents' payloads are not checked. The
// digest of the agent's question makes another question of the agent another question here.
func (r *run) payloadOf(a *dialect.Asked) map[string]any {
	shown := map[string]any{"agent": r.Name(), "kind": string(a.Kind), "tool": a.Tool, "arguments": a.Arguments}
	if a.Digest != "" {
		shown["digest"] = a.Digest
	}
	inner, _ := a.Payload.(map[string]any)
	agent, isText := inner["agent"].(string)
	if args, ok := inner["arguments"].(map[string]any); ok && isText {
		shown["agent"] = r.Name() + "/" + visible.Clip(agent, 200)
		through := map[string]any{"agent": r.Name(), "tool": a.Tool, "arguments": a.Arguments}
		behind, _ := inner["through"].([]any)
		shown["kind"], shown["tool"], shown["arguments"] = inner["kind"], inner["tool"], args
		shown["through"] = append([]any{through}, behind...)
	} else if a.Payload != nil {
		shown["payload"] = a.Payload
	}
	return shown
}

// askID returns the id of a question here: the same as long as the child asks the same.
func askID(a *dialect.Asked, status string) string {
	if a.ID != "" && len(a.ID) <= 200 {
		return "child:" + a.ID
	}
	return "child#" + hashed(16, fmt.Appendf(nil, "%q", []string{a.ID, status, a.Summary}))
}

// shownOf returns what an answer to a question is bound to: the digest that the child checks, or a
// hash of what was shown.
func shownOf(a *dialect.Asked) string {
	if a.Digest != "" {
		return "digest:" + a.Digest
	}
	raw, _ := json.Marshal([]any{a.Kind, a.Summary, a.Tool, a.Arguments, a.Payload, a.Schema}) // it was read from JSON
	return hashed(16, raw)
}

// prepare keeps the answers of people in a checkpoint, before they are sent, with those that were
// not sent yet. gaveUp says why the call ends instead.
func (r *run) prepare(answers []tool.Answer) (gaveUp, err error) {
	out := &answer{}
	if r.state.Answer != nil {
		*out = *r.state.Answer
	}
	before := len(out.Parts)
	for _, a := range answers {
		i := slices.IndexFunc(r.state.Asked, func(q question) bool { return q.Ask == a.Ask.ID })
		if i < 0 {
			continue
		}
		q := &r.state.Asked[i]
		decision, gaveUp := decisionOf(q, &a)
		if gaveUp != nil {
			return gaveUp, nil
		}
		if decision == nil {
			continue // something was done elsewhere: the child knows more
		}
		part, err := q.Asked.Answer(*decision)
		if err != nil {
			return fmt.Errorf("the answer cannot be sent: %w", err), nil
		}
		metadata := r.passedOn()
		maps.Copy(metadata, part.Metadata)
		part.Metadata = metadata
		out.Parts = append(out.Parts, part)
		out.To = append(out.To, target{ID: q.Asked.ID, Shown: q.Shown, Edits: decision.Type == approval.Edit})
	}
	if len(out.Parts) == before {
		return nil, nil
	}
	r.state.Answer, r.state.Polls = out, 0
	return nil, r.checkpoint()
}

// decisionOf returns the decision with which the child is answered; nil: none is sent. gaveUp says
// why the call ends instead.
func decisionOf(q *question, a *tool.Answer) (d *approval.Decision, gaveUp error) {
	d = &approval.Decision{Reason: a.Reason}
	switch a.State {
	case tool.AnswerApproved:
		d.Type = approval.Approve
	case tool.AnswerEdited:
		d.Type, d.Args = approval.Edit, a.Response
	case tool.AnswerResponded:
		if q.Kind == tool.AskAuth {
			return nil, nil
		}
		d.Type, d.Response, d.Reason = approval.Respond, a.Response, ""
	default:
		d.Type = approval.Reject
		why := "was rejected"
		if a.State == tool.AnswerExpired {
			why = "was not answered in time"
			d.Reason = "nobody answered in time"
		}
		if q.Kind == tool.AskAuth || q.Asked.ID == "" || q.Asked.ADK && q.Asked.Kind == approval.KindQuestion {
			return nil, fmt.Errorf("its question %s, so its task is canceled", why)
		}
	}
	return d, nil
}

// due returns the answers that the child still waits for, to the questions that were shown; nil:
// none. A working child may wait for some, too: our servers ask while another call runs.
func (r *run) due() *answer {
	if r.state.Answer == nil || r.view.status.State.Terminal() {
		return nil
	}
	m := r.view.status.Message
	if s := r.view.status.State; s != a2a.TaskStateInputRequired && s != a2a.TaskStateAuthRequired && (m == nil || m.Metadata[dialect.URI] == nil) {
		return nil
	}
	asked, err := dialect.ReadAsked(m)
	if err != nil {
		return nil
	}
	out := &answer{}
	for i, to := range r.state.Answer.To {
		if slices.ContainsFunc(asked, func(now dialect.Asked) bool {
			named := now.ID != "" && now.Digest != "" // else an equal question in another message may be a later one
			return now.ID == to.ID && shownOf(&now) == to.Shown && (named || m == nil || m.ID == r.state.Status)
		}) {
			out.Parts, out.To = append(out.Parts, r.state.Answer.Parts[i]), append(out.To, to)
		}
	}
	if len(out.To) == 0 {
		return nil
	}
	return out
}

// messageID returns the id of the message with an answer: the same when it is sent again.
func (r *run) messageID(a *answer) string {
	var ids []string
	for _, to := range a.To {
		ids = append(ids, to.ID, to.Shown)
	}
	return fmt.Sprintf("%s.%d.%s", r.state.Message, r.state.Round, hashed(4, fmt.Appendf(nil, "%q", ids)))
}

// answer sends answers, and follows the child.
func (r *run) answer(a *answer) (*tool.Result, error) {
	m := &a2a.Message{ID: r.messageID(a), TaskID: r.state.Child, ContextID: r.state.Of, Role: a2a.MessageRoleUser, Parts: a.Parts, Metadata: r.passedOn()}
	before := ""
	if r.view.status.Message != nil {
		before = r.view.status.Message.ID
	}
	err := r.follow(r.send(r.ctx, m), before)
	refused, isRefused := errors.AsType[*a2a.Error](err)
	switch {
	case r.stopped:
		return nil, nil
	case errors.Is(err, errFatal):
		return nil, err
	case r.ctx.Err() != nil:
		return nil, r.ended()
	case err == nil:
		r.state.Answer, r.state.Refused = nil, nil
		return r.rest()
	}
	r.note(err)
	if err := r.look(); err != nil {
		return nil, err // with the answer, which is sent again if the child still asks
	}
	still := r.due()
	if still != nil && !isRefused {
		return nil, r.later(err)
	}
	r.state.Answer = nil
	if still != nil {
		r.refused(still, refused)
	}
	return r.rest()
}

// refused notes that the agent refused an answer to questions that it still asks.
func (r *run) refused(a *answer, why *a2a.Error) {
	if r.state.Refused == nil {
		r.state.Refused = map[string]string{}
	}
	edits := slices.ContainsFunc(a.To, func(to target) bool { return to.Edits })
	for _, to := range a.To {
		text := visible.Clip(why.Message, maxError/4)
		if edits {
			text = editRefused + text
		}
		r.state.Refused[to.ID] = text
	}
	r.state.Round++ // bounded, like new questions
}

// textOf returns the texts of parts.
func textOf(parts a2a.ContentParts) string {
	var texts []string
	for _, p := range parts {
		if p != nil && p.Text() != "" {
			texts = append(texts, p.Text())
		}
	}
	return strings.Join(texts, "\n")
}
