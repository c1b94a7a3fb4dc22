package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
)

// filePath returns the path of file i of policy.files, with which the paths of its keys begin.
func filePath(i int) string { return fmt.Sprintf("policy.files[%d]", i) }

// policyFiles reads the files of policy.files. A file without gates is refused, because it may
// have lost them.
func policyFiles(l *loader) {
	c := l.config
	if !l.sound("policy.files") {
		return
	}
	c.fileGates = make([][]approval.Gate, len(c.PolicyFiles))
	c.PolicyFiles = slices.Clone(c.PolicyFiles)
	for i := range c.PolicyFiles {
		l.locate("policy.files", &c.PolicyFiles[i])
		if at := slices.Index(c.PolicyFiles[:i], c.PolicyFiles[i]); at >= 0 {
			l.at("policy.files", "%s is in the list twice; remove one", quote(filepath.Base(c.PolicyFiles[i])))
			continue
		}
		if err := strictyaml.Stat(c.PolicyFiles[i]); errors.Is(err, fs.ErrNotExist) {
			l.at("policy.files", "%s does not exist, so its gates would be missing; it was looked for at %s", quote(filepath.Base(c.PolicyFiles[i])), visible.Line(c.PolicyFiles[i]))
			continue
		}
		l.read(c.PolicyFiles[i], filePath(i), []key{mappings("gates", "gate", gateExample, &c.fileGates[i], gateKeys, checkGate)})
	}
}

// AllGates returns the gates of the configuration and then those of policy.files, in their
// order.
func AllGates(c *Config) []approval.Gate {
	all := slices.Clip(c.Gates)
	for _, f := range c.fileGates {
		all = append(all, f...)
	}
	return all
}

// gateAt returns the path of gate i of [AllGates]; "": there are not as many.
func gateAt(c *Config, i int) string {
	if i < len(c.Gates) {
		return fmt.Sprintf("gates[%d]", i)
	}
	i -= len(c.Gates)
	for n, f := range c.fileGates {
		if i < len(f) {
			return fmt.Sprintf("%s.gates[%d]", filePath(n), i)
		}
		i -= len(f)
	}
	return ""
}

// toolsOfGate returns the key tool of a gate: a name, or a list.
func toolsOfGate(g *approval.Gate) key {
	all := g.Patterns()
	k := many("tool", "", &all, func(to *string) setting.Value { return filled(to, "the name of a tool, or \"*\" for all") },
		"Name of a tool, a pattern in which * matches any text, or a list of these. A name that no tool has is an error at the start.",
		func(all []string) error {
			if len(all) == 0 {
				return fmt.Errorf("is empty; write the name of a tool, or \"*\" for all")
			}
			return nil
		})
	k.form, k.single = "a name, \"*\" for all, or a list", true
	set := k.set
	k.set = func(texts []string, wrong func(int, error)) {
		if set(texts, wrong); len(all) > 0 {
			g.Tool, g.Tools = all[0], append([]string(nil), all[1:]...)
		}
	}
	return k
}

// conditionOf reads the key when.
func conditionOf(_ *loader, n strictyaml.Node) *condition.Condition {
	text, ok := n.One()
	if !ok {
		return nil
	}
	c, err := condition.Compile(text)
	var wrong *condition.Error
	switch {
	case errors.As(err, &wrong):
		n.AddInside(wrong.Line, wrong.Column, "%s", wrong.Message)
	case err != nil:
		n.Add("%v", err)
	}
	return c
}

// whoOf reads the key who.
func whoOf(l *loader, n strictyaml.Node) *approval.Who {
	w := &approval.Who{}
	patterns := func(name string, to *[]string) key { return many(name, "", to, pattern, "") }
	words := many("annotations", "", &w.Annotations, func(to *string) setting.Value {
		return setting.Choice(to, "an annotation", approval.AnnotationWords()...)
	}, "")
	l.names(n, "callers, roles, tenants, agents or annotations, or remove who for all calls",
		patterns("callers", &w.Callers), listed("roles", &w.Roles), patterns("tenants", &w.Tenants), patterns("agents", &w.Agents), words)
	l.references = append(l.references, func() {
		if len(w.Callers)+len(w.Roles)+len(w.Tenants) > 0 && l.sound(n.Path()) && !l.authenticated() {
			n.Add("without authentication requesters cannot be told apart; set auth (docs/security.md), or remove callers, roles and tenants")
		}
	})
	return w
}
