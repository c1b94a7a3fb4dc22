package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/lists"
	"a2a-server/internal/suggest"
	"a2a-server/task"
	"a2a-server/tool"
)

// A TrialCall is a call that is judged and never made.
type TrialCall struct {
	Tool string
	Args map[string]any // as package strictjson decodes them
	By   auth.Principal
}

// A Rule is the word of a gate about a call.
type Rule struct {
	Name    string          `json:"name"` // of the gate; [approval.GateTool]: the tool's own gate
	Place   string          `json:"place,omitempty"`
	Action  approval.Action `json:"action"`
	Applies bool            `json:"applies"`
	Failed  bool            `json:"failed,omitempty"` // its condition
	Why     string          `json:"why"`
}

// An Explanation is the decision of the policy about a call, and its reasons.
type Explanation struct {
	Action approval.Action `json:"action"`
	Gate   string          `json:"gate"` // that decides
	Reason string          `json:"reason,omitempty"`
	Hint   string          `json:"hint,omitempty"`  // the question
	Rules  []Rule          `json:"rules"`           // about the tool: exact names first
	Others int             `json:"others"`          // gates that are about other tools
	Terms  []string        `json:"terms,omitempty"` // of the approval, in words

	Merged approval.Terms `json:"-"` // of the gates with the action
}

// Decisive returns the names of the rules that apply and have the action of the verdict.
func (e *Explanation) Decisive() (names []string) {
	for _, r := range e.Rules {
		if r.Applies && (r.Action == e.Action || e.Action == approval.ActionAsk && r.Failed) {
			names = append(names, r.Name)
		}
	}
	return names
}

// unknownToolError is [tool.ErrUnknownTool] in words for the caller.
type unknownToolError string

func (e unknownToolError) Error() string { return string(e) }

func (unknownToolError) Is(target error) bool { return target == tool.ErrUnknownTool }

// Explain judges a call of a tool that the caller may use, with arguments that its schema
// allows, as the server would. It starts no call. Hooks of programs are not asked.
func (t *Tools) Explain(ctx context.Context, c TrialCall) (*Explanation, error) {
	c.By = t.completed(c.By)
	by := task.NewReadonlyContext(ctx, t.Agent, c.By)
	found, err := t.Registry.Lookup(by, c.Tool)
	if errors.Is(err, tool.ErrUnknownTool) {
		lister := NewLister(t.Registry, t.Agent, c.By)
		lister.Fill(ctx)
		entries, _ := lister.Entries()
		names := lists.Map(entries, func(e *tool.Registered) string { return e.Tool.Name() })
		return nil, unknownToolError(fmt.Sprintf("this caller has no tool %+q%s", c.Tool, suggest.DidYouMean(c.Tool, "", names)))
	}
	if err != nil {
		return nil, err
	}
	if _, err := found.Schema.Check(c.Args); err != nil {
		return nil, fmt.Errorf("no gate is asked, because the arguments are wrong: %w", err)
	}
	verdict, considered := t.Policy.Explain(by, found.Tool, c.Args)
	e := &Explanation{
		Action: verdict.Action, Gate: verdict.Terms.Gate, Reason: verdict.Reason, Rules: []Rule{}, Others: len(t.Policy.Gates()),
		Merged: verdict.Terms,
	}
	if verdict.Action == approval.ActionAsk {
		args, err := json.Marshal(c.Args)
		if err != nil {
			return nil, err
		}
		asked := approval.Approval{Kind: approval.KindCall, Tool: c.Tool, Args: args, Hint: verdict.Hint, Notes: verdict.Notes, Terms: verdict.Terms}
		e.Hint, e.Terms = asked.Question(), verdict.Terms.Words()
	}
	for _, one := range considered {
		r := Rule{Name: approval.GateTool, Action: one.Action, Applies: one.Applies, Failed: one.Failed, Why: one.Why}
		if one.Gate >= 0 {
			e.Others--
			r.Name, r.Place = t.GateOrigin(one.Gate).Entry, t.place(one.Gate)
		}
		e.Rules = append(e.Rules, r)
	}
	return e, nil
}

// completed returns a caller with what the server gives callers.
func (t *Tools) completed(by auth.Principal) auth.Principal {
	if t.Complete != nil {
		return t.Complete(by)
	}
	return by
}

// Arguments reads arguments of a call as people type them: key=value, where a value is JSON, or a
// text if the tool wants a text there or it is no JSON.
func (t *Tools) Arguments(ctx context.Context, of string, by auth.Principal, pairs []string) (map[string]any, error) {
	texts := map[string]bool{}
	if found, err := t.Registry.Lookup(task.NewReadonlyContext(ctx, t.Agent, t.completed(by)), of); err == nil {
		properties, _ := tool.ToDefinition(found.Tool).Parameters["properties"].(map[string]any)
		for name, p := range properties {
			schema, _ := p.(map[string]any)
			texts[name] = schema["type"] == "string"
		}
	}
	values := map[string]json.RawMessage{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := values[key]; !ok || key == "" || twice {
			return nil, fmt.Errorf("%q is not an argument: write each once, as key=value", pair)
		}
		values[key] = json.RawMessage(value)
		if texts[key] || !json.Valid(values[key]) {
			values[key], _ = json.Marshal(value) // a text always can be
		}
	}
	object, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return tool.DecodeArgs(object)
}
