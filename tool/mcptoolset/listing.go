package mcptoolset

import (
	"fmt"
	"reflect"
	"slices"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// listing is an immutable copy of a server's tools: definitions, tools offered, problems
// found.
type listing struct {
	definitions []definition // in the order of the server
	tools       []tool.Tool  // in that order
	byName      map[string]*remote
	problems    []string
	gateAll     string // why every tool needs an approval, "" if not
}

// offer makes a listing of definitions. Tools that are the same as in before are kept, and
// if all are, so is its slice of them: registries recognize it.
func (t *Toolset) offer(definitions []definition, refused []string, more bool, before *listing) *listing {
	l := &listing{definitions: definitions, byName: make(map[string]*remote, len(definitions)), problems: refused}
	problem := func(format string, args ...any) { l.problems = append(l.problems, fmt.Sprintf(format, args...)) }
	count := map[string]int{}
	for _, d := range definitions {
		count[d.Name]++
	}
	for _, name := range t.cfg.Approve {
		if name != "*" && count[name] == 0 {
			l.gateAll = fmt.Sprintf("approve names %s, which the server does not list, so every tool needs an approval; check its spelling", visible.Quote(name, 80))
			problem("%s", l.gateAll)
		}
	}
	if more {
		problem("the server lists more than %d tools or %d pages; the others are not offered", maxTools, maxPages)
	}
	for i := range definitions {
		d := &definitions[i]
		if !t.cfg.offers(d.Name) {
			continue
		}
		switch n := count[d.Name]; {
		case n > 1:
			problem("tool %s: the server lists %d tools of that name; none is offered", visible.Quote(d.Name, 80), n)
			count[d.Name] = -1 // reported
			continue
		case n < 0:
			continue
		}
		r := before.kept(d, l.gateAll)
		if r == nil {
			var err error
			if r, err = t.remote(d, l.gateAll != ""); err != nil {
				problem("tool %s: %v; it is not offered", visible.Quote(d.Name, 80), err)
				continue
			}
		}
		if r.changed != "" {
			problem("tool %s: %s", visible.Quote(d.Name, 80), r.changed)
		}
		l.byName[d.Name] = r
		l.tools = append(l.tools, r)
	}
	for _, name := range t.cfg.Only {
		if name != "*" && count[name] == 0 && !slices.Contains(t.cfg.Approve, name) {
			problem("tool %s: the server does not list it, or lists it in a form that cannot be used", visible.Quote(name, 80))
		}
	}
	if rest := len(l.problems) - maxProblems; rest > 0 {
		l.problems = append(l.problems[:maxProblems], fmt.Sprintf("%d more problems", rest))
	}
	if before != nil && slices.Equal(before.tools, l.tools) {
		l.tools = before.tools
	}
	return l
}

// kept returns the tool of a definition if it is the same as in l, else nil. l may be nil.
func (l *listing) kept(d *definition, gateAll string) *remote {
	if l == nil || l.gateAll != gateAll || l.byName[d.Name] == nil || !reflect.DeepEqual(l.byName[d.Name].definition, d) {
		return nil
	}
	return l.byName[d.Name]
}

// remote makes the tool of a definition. The error says why it is not offered.
func (t *Toolset) remote(d *definition, gateAll bool) (*remote, error) {
	name := t.cfg.Prefix + d.Name
	if !offeredName.MatchString(name) {
		return nil, fmt.Errorf("%s is not a valid tool name; names have up to 64 letters, digits, _, - and, within them, dots", visible.Quote(name, 80))
	}
	parameters, err := strictjson.DecodeObject(d.Parameters)
	if err != nil {
		return nil, fmt.Errorf("the schema of its arguments: %w", err)
	}
	if err := checkShown(parameters); err != nil {
		return nil, fmt.Errorf("the schema of its arguments: %w", err)
	}
	compiled, err := tool.CompileSchema(parameters)
	if err != nil {
		return nil, fmt.Errorf("the schema of its arguments: %s", visible.Clip(err.Error(), 300))
	}
	r := &remote{
		set: t, name: name, parameters: parameters, compiled: compiled,
		definition: d,
		approval:   gateAll || slices.Contains(t.cfg.Approve, "*") || slices.Contains(t.cfg.Approve, d.Name),
		trusted:    slices.Contains(t.cfg.Trust, d.Name),
	}
	if r.digest, err = tool.Digest(tool.ToDefinition(r)); err != nil {
		return nil, fmt.Errorf("its definition: %w", err)
	}
	if len(t.cfg.Pins) > 0 {
		pin, ok := t.cfg.Pins[d.Name]
		switch {
		case !ok:
			return nil, fmt.Errorf("it is not pinned, and other tools are; add its digest %s to the pins", r.digest)
		case pin != r.digest:
			r.trusted = false
			r.changed = fmt.Sprintf("its definition differs from its pin: the digest is %s, pinned is %s", r.digest, pin)
		}
	}
	return r, nil
}
