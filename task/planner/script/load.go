package script

import (
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// Limits of a file.
const (
	// MaxFile is how many bytes a file may have.
	MaxFile = 1 << 20
	// MaxChunks is how many pieces one chunks step may publish.
	MaxChunks = 10_000
	// MaxCalls is how many calls one step may make.
	MaxCalls = 64
)

// Load reads a file of scenarios, as the package comment describes it. name is what
// errors call the file. When the file is wrong the error joins a [*ProblemError] for
// everything that is wrong with it.
func Load(r io.Reader, name string) (*Planner, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	rep := &report{file: name}
	if len(text) > MaxFile {
		rep.add(&yaml.Node{}, "", "the file is larger than %d bytes; split it or make it smaller", MaxFile)
		return nil, rep.err()
	}
	var documents []yaml.Node
	if err := yaml.Load(text, &documents, yaml.WithAllDocuments()); err != nil {
		return nil, rep.syntax(err)
	}
	switch {
	case len(documents) == 0 || len(documents[0].Content) == 0:
		rep.add(&yaml.Node{}, "", "the file is empty; write scenarios: and a list below it")
		return nil, rep.err()
	case len(documents) > 1:
		rep.add(&documents[1], "", "a second document begins here; put all scenarios below one scenarios:")
		return nil, rep.err()
	}
	scenarios := rep.scenarios(documents[0].Content[0])
	if err := rep.err(); err != nil {
		return nil, err
	}
	return newPlanner(scenarios), nil
}

// syntax translates what the YAML library says of a text that is not YAML.
func (r *report) syntax(err error) error {
	var all *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &all):
		for _, e := range all.Errors {
			r.add(&yaml.Node{Line: e.Mark.Line, Column: e.Mark.Column}, "", "%s", e.Message)
		}
	case errors.As(err, &one):
		r.add(&yaml.Node{Line: one.Mark.Line, Column: one.Mark.Column}, "", "%s", one.Message)
	default:
		r.add(&yaml.Node{}, "", "%v", err)
	}
	return r.err()
}

// scenarios reads the whole file.
func (r *report) scenarios(root *yaml.Node) []scenario {
	fields, ok := r.mapping(root, "", "scenarios")
	if !ok {
		return nil
	}
	list := fields.get("scenarios")
	if list == nil {
		r.add(root, "scenarios", "missing; write a list of scenarios")
		return nil
	}
	entries, ok := r.sequence(list, "scenarios")
	if !ok {
		return nil
	}
	lines := map[string]int{}
	all := make([]scenario, 0, len(entries))
	names := make([]*yaml.Node, 0, len(entries))
	for i, entry := range entries {
		key := fmt.Sprintf("scenarios[%d]", i)
		s, nameNode := r.scenario(entry, key)
		if first, taken := lines[s.name]; taken && s.name != "" {
			r.add(nameNode, key+".name", "%q is already the name of the scenario in line %d; names are unique", s.name, first)
		} else if nameNode != nil {
			lines[s.name] = nameNode.Line
		}
		all, names = append(all, s), append(names, nameNode)
	}
	if len(r.problems) == 0 { // else what a when says may not have been read
		r.reach(all, names)
	}
	return all
}

func (r *report) scenario(n *yaml.Node, key string) (s scenario, name *yaml.Node) {
	fields, ok := r.mapping(n, key, "name", "when", "steps")
	if !ok {
		return s, nil
	}
	if s.name, ok = r.required(n, fields, key, "name"); ok {
		name = fields.get("name")
	}
	if when := fields.get("when"); when != nil {
		s.when = r.condition(when, key+".when")
	}
	steps := fields.get("steps")
	if steps == nil {
		r.add(n, key+".steps", "missing; write a list of steps")
		return s, name
	}
	entries, ok := r.sequence(steps, key+".steps")
	if !ok {
		return s, name
	}
	for i, entry := range entries {
		stepKey := fmt.Sprintf("%s.steps[%d]", key, i)
		step := r.step(entry, stepKey)
		if step == nil {
			continue
		}
		s.steps = append(s.steps, step)
		if _, is := step.(messageStep); is && (i > 0 || s.when.followUp) {
			r.add(entry, stepKey, "a direct message is only possible as the first step of a scenario for a first message; use status, or complete with a text")
			continue
		}
		if e, is := step.(errorStep); is && e.named && (i > 0 || s.when.followUp) {
			r.add(entry, stepKey+".error.name", "only the first step for a first message answers it with an error; here it breaks the task, so write error: and the text alone")
		}
		if i < len(entries)-1 && isLast(step) {
			r.add(entries[i+1], fmt.Sprintf("%s.steps[%d]", key, i+1), "nothing can follow the step before, which ends the scenario; remove one of the two")
		}
	}
	return s, name
}

// isLast reports whether nothing comes after the step.
func isLast(s step) bool {
	switch s.(type) {
	case messageStep, endStep, errorStep:
		return true
	}
	return false
}
