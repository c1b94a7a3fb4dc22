package confirm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"a2a-server/internal/visible"
)

// Any is the name that stands for every tool without an entry of its own.
const Any = "*"

// Entry is a strategy with the tools that it decides: the name of one tool, those of a group, or
// [Any] alone.
type Entry struct {
	Tools    []string
	Strategy Strategy
}

// Strategies find the strategy of a tool: the entry of the tool alone, else the group that has it,
// else [Any]. Haystack's ConfirmationHook has the same table. They are safe for concurrent use.
type Strategies struct{ entries []Entry }

// NewStrategies returns the strategies of a list of entries. An entry without tools or strategy,
// two entries for one tool, and a tool in two groups are errors.
func NewStrategies(entries ...Entry) (*Strategies, error) {
	alone, grouped := map[string]bool{}, map[string]bool{}
	for i, e := range entries {
		if len(e.Tools) == 0 || e.Strategy == nil {
			return nil, fmt.Errorf("entry %d has no tools or no strategy: name the tools, or %q for all others", i, Any)
		}
		seen := alone
		if len(e.Tools) > 1 {
			seen = grouped
		}
		for _, name := range e.Tools {
			switch {
			case name == "":
				return nil, fmt.Errorf("entry %d has an empty name of a tool", i)
			case name == Any && len(e.Tools) > 1:
				return nil, fmt.Errorf("entry %d has %q beside other names: give it an entry of its own", i, Any)
			case seen[name]:
				return nil, fmt.Errorf("tool %s is in two entries of the same kind: leave it in one", visible.Quote(name, maxName))
			}
			seen[name] = true
		}
	}
	return &Strategies{slices.Clone(entries)}, nil
}

// For returns the strategy of a tool; nil: it has none.
func (s *Strategies) For(tool string) Strategy {
	var group, other Strategy
	for _, e := range s.entries {
		switch {
		case len(e.Tools) > 1 && slices.Contains(e.Tools, tool):
			group = e.Strategy
		case len(e.Tools) > 1:
		case e.Tools[0] == tool && tool != Any:
			return e.Strategy
		case e.Tools[0] == Any:
			other = e.Strategy
		}
	}
	if group != nil {
		return group
	}
	return other
}

// ToMap returns the serialized form, that of Haystack's ConfirmationHook. The key of a group is a
// JSON array.
func (s *Strategies) ToMap() map[string]any {
	all := map[string]any{}
	for _, e := range s.entries {
		all[key(e.Tools)] = e.Strategy.ToMap()
	}
	return form(typeHook, map[string]any{"confirmation_strategies": all})
}

// key returns the key of an entry in the serialized form.
func key(tools []string) string {
	if len(tools) == 1 {
		return tools[0]
	}
	raw, err := json.Marshal(tools) // as Python writes it, but for the spaces
	if err != nil {
		panic(err) // a list of strings is JSON
	}
	return string(raw)
}

// toolsOf returns the tools of a key in the serialized form.
func toolsOf(key string) ([]string, error) {
	if len(key) == 0 || key[0] != '[' {
		return []string{key}, nil
	}
	var tools []string
	if err := json.Unmarshal([]byte(key), &tools); err != nil || len(tools) == 0 {
		return nil, errors.New("the key " + visible.Quote(key, maxName) + " is no list of names, such as [\"read\", \"write\"]")
	}
	return tools, nil
}
