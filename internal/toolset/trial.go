package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/app/config"
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

// Try makes the tools of a configuration for as long as visit runs, and starts servers of tools
// when it has to. Its error keeps a server from starting, or is that of visit.
func Try(ctx context.Context, c Config, visit func(context.Context, *State) error) (err error) {
	s, err := New(c, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.box.close(nil)) }()
	ctx, cancel := context.WithTimeoutCause(ctx, inspectTime, fmt.Errorf("it has not listed its tools within %v", inspectTime))
	defer cancel()
	return visit(ctx, s)
}

// unknownToolError is [tool.ErrUnknownTool] in words for the caller.
type unknownToolError string

func (e unknownToolError) Error() string { return string(e) }

func (unknownToolError) Is(target error) bool { return target == tool.ErrUnknownTool }

// Explain judges a call of a tool that the caller may use, with arguments that its schema
// allows, as the server would. It starts no call. Hooks of programs are not asked.
func (s *State) Explain(ctx context.Context, c TrialCall) (*Explanation, error) {
	c.By = s.completed(c.By)
	by := task.NewReadonlyContext(ctx, s.agent, c.By)
	found, err := s.registry.Lookup(by, c.Tool)
	if errors.Is(err, tool.ErrUnknownTool) {
		lister := newLister(s.registry, s.agent, c.By)
		lister.fill(ctx)
		entries, _ := lister.entries()
		names := lists.Map(entries, func(e *tool.Registered) string { return e.Tool.Name() })
		return nil, unknownToolError(fmt.Sprintf("this caller has no tool %+q%s", c.Tool, suggest.DidYouMean(c.Tool, "", names)))
	}
	if err != nil {
		return nil, err
	}
	if _, err := found.Schema.Check(c.Args); err != nil {
		return nil, fmt.Errorf("no gate is asked, because the arguments are wrong: %w", err)
	}
	verdict, considered := s.policy.Explain(by, found.Tool, c.Args)
	e := &Explanation{
		Action: verdict.Action, Gate: verdict.Terms.Gate, Reason: verdict.Reason, Rules: []Rule{}, Others: len(s.policy.Gates()),
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
			o := s.gateOrigin(one.Gate)
			r.Name = o.Entry
			if o.File != "" {
				r.Place = config.Place{File: filepath.Base(o.File), Line: o.Line}.String()
			}
		}
		e.Rules = append(e.Rules, r)
	}
	return e, nil
}

// completed returns a caller with the tenant and the roles that the server gives callers without any.
func (s *State) completed(by auth.Principal) auth.Principal {
	if !by.IsAnonymous() {
		by.Tenant, by.Roles = cmp.Or(by.Tenant, s.conf.Auth.Tenant), s.conf.Auth.RolesOr(by.Roles)
	}
	return by
}

// Arguments reads arguments of a call as people type them: key=value, where a value is JSON, or a
// text if the tool wants a text there or it is no JSON.
func (s *State) Arguments(ctx context.Context, of string, by auth.Principal, pairs []string) (map[string]any, error) {
	texts := map[string]bool{}
	if found, err := s.registry.Lookup(task.NewReadonlyContext(ctx, s.agent, s.completed(by)), of); err == nil {
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

// sorted returns the keys of a map in their order.
func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
