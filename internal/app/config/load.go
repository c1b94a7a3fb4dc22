package config

import (
	"fmt"
	"maps"
	"slices"

	"a2a-server/internal/suggest"
)

// Source is what a configuration is read from.
type Source struct {
	File        string            // path; "" for no file
	Environment []string          // NAME=value, as os.Environ gives it
	Flags       map[string]string // flags that were set, by the Name of their [Key]; lists are comma separated

	// Authenticated says that a program proves who its callers are, by something that is
	// no part of the configuration, or that it does not listen.
	Authenticated bool
}

// Load reads a configuration: the defaults, then the file, the environment and the
// flags, each overriding the one before. A value that is overridden is checked all
// the same. Every error is an [*Error], with all problems at once; then there is no
// Config.
func Load(s Source) (*Config, error) {
	l := loader{
		config:  &Config{origins: map[string]origin{}},
		keys:    configKeys(),
		refused: map[string]bool{},
		gateAt:  map[string]origin{},

		authenticated: s.Authenticated,
	}
	for _, k := range l.keys {
		k.set(l.config, k.fallback)
	}
	if s.File != "" {
		l.file(s.File)
	}
	l.environment(s.Environment)
	l.flags(s.Flags)
	l.checkTogether()
	if len(l.problems) > 0 {
		sortProblems(l.problems)
		return nil, &Error{Problems: l.problems}
	}
	return l.config, nil
}

// loader is one run of [Load].
type loader struct {
	config   *Config
	keys     []key[Config]
	refused  map[string]bool   // keys with a problem, which others are not compared with
	path     string            // of the file
	gateAt   map[string]origin // where a gate got its name
	problems []Problem

	authenticated bool // the Source's
}

func (l *loader) add(at origin, path, format string, args ...any) {
	p := at.problem(path)
	p.Problem = fmt.Sprintf(format, args...)
	l.problems = append(l.problems, p)
}

// given is a value as it was given.
type given struct {
	path  string   // of its key, from the root
	texts []string // one, or the items of a list
	at    origin
	items []origin // of each text; nil: at
}

// put sets the key of target to what was given, or reports what is wrong with that.
func put[C any](l *loader, k key[C], target *C, v given) {
	flaws := k.set(target, v.texts)
	if len(flaws) == 0 {
		l.config.origins[v.path] = v.at
		return
	}
	l.refused[v.path] = true
	for _, f := range flaws {
		at, path := v.at, v.path
		if f.item >= 0 && f.item < len(v.items) {
			at = v.items[f.item]
			path = fmt.Sprintf("%s[%d]", path, f.item)
		}
		l.add(at, path, "%v", f.problem)
	}
}

// flags takes the flags that were set.
func (l *loader) flags(flags map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		at := origin{layer: Flag, name: flagName(name)}
		k, ok := find(l.keys, name)
		if !ok {
			l.add(at, name, "there is no such flag%s", l.didYouMean(at.name, names(l.keys, flagName)))
			continue
		}
		put(l, k, l.config, given{path: name, texts: k.split(flags[name]), at: at})
	}
}

// didYouMean returns what name was most likely meant to be, for the end of a problem. A
// file of many thousand wrong keys is not worth the search.
func (l *loader) didYouMean(name string, candidates []string) string {
	if len(l.problems) >= maxShown {
		return ""
	}
	return suggest.DidYouMean(name, prefix, candidates)
}
