package tool

import (
	"errors"
	"fmt"
	"sync"
)

// index is a registry's view of a slice of a toolset.
type index struct {
	id     uint64 // unique in the registry
	found  []found
	byName map[string]*found
	twice  map[string]bool // names that several tools have
}

// found is a tool that a toolset has.
type found struct {
	name, toolset string
	tool          Tool

	once  sync.Once // guards entry and err
	entry *Registered
	err   error // why the tool cannot be used
}

// newIndex returns the index of the tools of the toolset with that name.
func newIndex(toolset string, tools []Tool) (*index, error) {
	i := &index{found: make([]found, len(tools)), byName: make(map[string]*found, len(tools)), twice: map[string]bool{}}
	for j, t := range tools {
		if t == nil {
			return nil, fmt.Errorf("toolset %q: tool %d is nil", toolset, j)
		}
		f := &i.found[j]
		f.name, f.toolset, f.tool = t.Name(), toolset, t
		if f.name == "" {
			return nil, fmt.Errorf("toolset %q: tool %d has no name", toolset, j)
		}
		if err := checkWrapper(t); err != nil {
			return nil, fmt.Errorf("toolset %q: tool %q: %w", toolset, f.name, err)
		}
		if i.byName[f.name] == nil {
			i.byName[f.name] = f
		} else {
			i.twice[f.name] = true
		}
	}
	return i, nil
}

// resolve returns the tool's entry, or why the tool cannot be used.
func (f *found) resolve(known *definitions) (*Registered, error) {
	f.once.Do(func() {
		d, err := known.of(f.tool)
		if err != nil {
			f.err = fmt.Errorf("toolset %q: tool %q: %w", f.toolset, f.name, err)
			return
		}
		f.entry = &Registered{Tool: f.tool, Toolset: f.toolset, Definition: d.Definition, Digest: d.digest, Schema: d.schema}
	})
	return f.entry, f.err
}

// ErrCollision means that two tools have the same name. Which of them is meant is unknown,
// so neither can be called.
var ErrCollision = errors.New("two tools have the same name")

// collisionError is an ErrCollision that names the toolsets.
type collisionError struct{ text string }

func (e *collisionError) Error() string        { return e.text }
func (e *collisionError) Is(target error) bool { return target == ErrCollision }

func collision(a, b *found) error {
	if a.toolset == b.toolset {
		return &collisionError{fmt.Sprintf("toolset %q has two tools called %q; rename one, or leave it out", a.toolset, a.name)}
	}
	return &collisionError{fmt.Sprintf("toolsets %q and %q both have a tool called %q; rename one, or leave it out", a.toolset, b.toolset, a.name)}
}
