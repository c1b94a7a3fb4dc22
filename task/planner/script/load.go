package script

import (
	"fmt"
	"io"

	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
)

// Limits of a file.
const (
	// MaxFile is the maximum size of a file, in bytes.
	MaxFile = strictyaml.MaxFile
	// MaxChunks is the maximum number of pieces of a chunks step.
	MaxChunks = 10_000
	// MaxCalls is the maximum number of calls of a step.
	MaxCalls = 64
)

// Load reads a file of scenarios, as the package comment describes it. name is the file's
// name in errors. If the file is invalid, the error joins a [*ProblemError] for each
// problem.
func Load(r io.Reader, name string) (*Planner, error) {
	report := &strictyaml.Report{File: name}
	root, ok, err := report.Read(r)
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	var scenarios []scenario
	switch {
	case ok && root.Null():
		root.Add("the file is empty; write scenarios: and a list below it")
	case ok:
		scenarios = readScenarios(report, root)
	}
	if err := joined(report); err != nil {
		return nil, err
	}
	return newPlanner(scenarios), nil
}

// readScenarios reads the whole file.
func readScenarios(report *strictyaml.Report, root strictyaml.Node) []scenario {
	fields, ok := root.Fields("scenarios")
	if !ok {
		return nil
	}
	list := entries(fields.Get("scenarios"), "scenarios")
	all := make([]scenario, len(list))
	lines := map[string]int{}
	for i, entry := range list {
		var name strictyaml.Node
		all[i], name = readScenario(entry)
		switch first, taken := lines[all[i].name]; {
		case all[i].name == "":
		case taken:
			name.Add("%s is already the name of the scenario in line %d; names are unique", visible.Quote(all[i].name, 60), first)
		default:
			lines[all[i].name] = name.Place().Line
		}
	}
	if len(report.Problems()) == 0 { // otherwise a when may not have been read
		reach(all, list)
	}
	return all
}

func readScenario(n strictyaml.Node) (s scenario, name strictyaml.Node) {
	fields, ok := n.Fields("name", "when", "steps")
	if !ok {
		return s, n
	}
	name = fields.Get("name")
	s.name = required(name)
	if when := fields.Get("when"); !when.Missing() {
		s.when = readCondition(when)
	}
	steps := entries(fields.Get("steps"), "steps")
	for i, entry := range steps {
		step := readStep(entry)
		if step == nil {
			continue
		}
		s.steps = append(s.steps, step)
		opens := i == 0 && !s.when.followUp
		if step.kind == directMessage && !opens {
			entry.Add("a direct message is only possible as the first step of a scenario for a first message; use status, or complete with a text")
			continue
		}
		if step.named && !opens {
			entry.Below("error.name").Add("only the first step for a first message answers it with an error; here it breaks the task, so write error: and the text alone")
		}
		if i < len(steps)-1 && (step.kind == directMessage || step.kind == ending || step.kind == failing) {
			steps[i+1].Add("nothing can follow the step before, which ends the scenario; remove one of the two")
		}
	}
	return s, name
}
