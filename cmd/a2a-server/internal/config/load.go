package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"a2a-server/internal/lists"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

// Source is the input of [Load].
type Source struct {
	File        string            // path; "" for no file
	Environment []string          // NAME=value, as from os.Environ
	Flags       map[string]string // flags that were set, by the Name of their [Key]; lists are comma-separated

	// Authenticated means that the program has its own authentication, or that it does not
	// listen. Then a public address does not need insecure_no_auth.
	Authenticated bool
	// Callers means that callers are authenticated, so that tools can be for some of them.
	Callers bool
	// Later means that it is not known yet whether the program has its own authentication: what depends on it is not
	// checked.
	Later bool
	// Place means that only the place of the server matters: its address, its data folder, its
	// socket and its certificate. The policy files are not read, and problems within the file's other
	// keys are no error: a server keeps running while its policy is edited.
	Place bool
}

// elsewhere reports whether a problem is within a key that [Source.Place] does not need. A key that
// is misspelled, or at the wrong place, could be one that it needs.
func elsewhere(p Problem, keys []key) bool {
	place := []string{"listen", "data", "admin", "tls"}
	path := strings.FieldsFunc(p.Key, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	return p.Source == File && len(path) > 0 && !slices.Contains(place, path[0]) && !slices.Contains(place, path[len(path)-1]) &&
		slices.ContainsFunc(keys, func(k key) bool { return k.name == path[0] || strings.HasPrefix(k.name, path[0]+".") })
}

// Load reads a configuration: the defaults, then the file, the environment and the flags, each
// overriding its predecessor. Overridden values are checked, too. The error is always an
// [*Error] with all problems, and the Config is then nil.
func Load(s Source) (*Config, error) {
	l, err := load(s)
	if err != nil {
		return nil, err
	}
	return l.config, nil
}

// Reload reads the configuration of a running server again. It returns running with the new values of the
// keys that a running server reads again, and the names of the other keys that have changed. Both what was read
// and what is returned have to be valid: a start would take the one, and this server runs with the other.
func Reload(s Source, running *Config) (merged *Config, restart []string, err error) {
	l, err := load(s)
	if err != nil {
		return nil, nil, err
	}
	asks := func(c *Config) int { return len(writtenGates(c)) + len(c.ApproveTools) }
	if asks(running) > 0 && asks(l.config) == 0 && len(l.config.PolicyFiles) == 0 && (l.blank || !l.given("gates")) {
		l.add(origin{layer: File, name: s.File}, "gates", "all gates are gone; write them, or gates: [] if there are none any more")
	}
	l.config, restart = reloaded(running, l.config)
	l.keys = keysOf(l.config)
	l.restartSecrets()
	if err := l.verify(); err != nil {
		for i := range err.Problems {
			if len(restart) > 0 {
				err.Problems[i].Problem += "; or restart the server: until then these stay as they were: " + strings.Join(restart, " ")
			}
		}
		return nil, nil, err
	}
	return l.config, restart, nil
}

// restartSecrets notes the references to secrets of the keys that need a restart.
func (l *loader) restartSecrets() {
	for _, k := range l.keys {
		var names []string
		switch v := k.field.Interface().(type) {
		case Value:
			names = append(names, v.Secret)
		case []OIDC:
			names = lists.Map(v, func(o OIDC) string { return o.ClientSecret.Secret })
		case map[string]string:
			for _, text := range v {
				names = append(names, lists.Map(secretsIn(text), func(m []string) string { return m[1] })...)
			}
		}
		for _, name := range names {
			if name != "" {
				l.reference(name, func(format string, args ...any) { l.at(k.name, format, args...) })
			}
		}
	}
}

// load is Load.
func load(s Source) (*loader, error) {
	l := &loader{
		config:  &Config{origins: map[string]origin{}},
		refused: map[string]bool{},
		gateAt:  map[string]origin{},
		reports: map[string]*strictyaml.Report{},
		report:  &strictyaml.Report{},
		source:  s,
	}
	l.keys = keysOf(l.config)
	setDefaults(l.keys)
	if s.File != "" {
		l.read(s.File, "", l.keys)
	}
	l.environment(s.Environment)
	l.flags(s.Flags)
	for _, k := range l.keys {
		if path := k.path(); path != nil {
			l.locate(k.name, path)
		}
	}
	if !s.Place {
		policyFiles(l)
	}
	if err := l.verify(); err != nil {
		return nil, err
	}
	return l, nil
}

// verify checks the values that depend on each other, and returns the problems with all values.
func (l *loader) verify() *Error {
	l.validate()
	all := problemsOf(l)
	if !l.source.Place && len(all) == 0 {
		// Every rule of a policy has a check of its own, with a place. This is for those that are
		// about several gates.
		if _, err := Policy(l.config); err != nil {
			l.at("gates", "%v", err)
			all = l.problems
		}
	}
	if l.source.Place {
		all = slices.DeleteFunc(all, func(p Problem) bool { return elsewhere(p, l.keys) })
	}
	if len(all) > 0 {
		return &Error{Problems: all}
	}
	return nil
}

// loader is a run of [Load].
type loader struct {
	config  *Config
	keys    []key
	refused map[string]bool               // keys with a problem, which are not compared with others
	gateAt  map[string]origin             // of each gate's name
	reports map[string]*strictyaml.Report // of the files, by their paths
	report  *strictyaml.Report            // of the file that is being read, or was read last
	from    string                        // its path
	blank   bool                          // the key gates of the configuration has no value
	// references check the references to secrets, once all secrets have been read.
	references []func()
	problems   []Problem // other problems
	source     Source
}

// origin is where a value was set. The zero origin is the default.
type origin struct {
	layer Layer
	name  string           // of the file, the variable or the flag
	at    strictyaml.Place // in the file
	key   strictyaml.Place // of the name of the value
}

// String returns the origin in the form of [Show]'s comments.
func (o origin) String() string {
	if o.layer == File {
		return fmt.Sprintf("%s:%d", visible.Line(o.name), o.at.Line)
	}
	return cmp.Or(strings.TrimSpace(string(o.layer)+" "+o.name), "default")
}

// problem returns a Problem at this origin.
func (o origin) problem(path, format string, args ...any) Problem {
	p := Problem{Source: o.layer, Line: o.at.Line, Column: o.at.Column, Key: path, Problem: fmt.Sprintf(format, args...)}
	if o.layer == File {
		p.File = visible.Line(o.name)
	} else if o.name != "" {
		p.Key = o.name
	}
	return p
}

func (l *loader) add(at origin, path, format string, args ...any) {
	l.problems = append(l.problems, at.problem(path, format, args...))
}

// count returns how many problems there are in the file that is being read, and with other values.
func (l *loader) count() int { return l.report.Count() + len(l.problems) }

// problemsOf returns the problems in the order of the layers and, within a layer, of their place.
func problemsOf(l *loader) []Problem {
	files := lists.Map(append([]string{l.source.File}, l.config.PolicyFiles...), visible.Line)
	for _, r := range l.reports {
		for _, p := range r.Problems() {
			l.problems = append(l.problems, Problem{File, p.File, p.Line, p.Column, p.Key, p.Problem})
		}
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		layers := []Layer{File, Environment, Flag}
		return cmp.Or(
			cmp.Compare(slices.Index(layers, a.Source), slices.Index(layers, b.Source)),
			cmp.Compare(slices.Index(files, a.File), slices.Index(files, b.File)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Problem, b.Problem),
		)
	})
	return l.problems
}

// put sets the key at path to texts, or adds the problems with them. items are the origins
// of the texts, if they have their own.
func (l *loader) put(k key, path string, at origin, texts []string, items ...origin) {
	l.config.origins[path] = at
	k.set(texts, func(item int, err error) {
		l.refused[path] = true
		if item >= 0 && item < len(items) {
			l.add(items[item], fmt.Sprintf("%s[%d]", path, item), "%v", err)
		} else {
			l.add(at, path, "%v", err)
		}
	})
}

// give sets the key with that name to a text. what is the word for a key in its layer, and
// known lists the keys there.
func (l *loader) give(at origin, name, text, what string, known []string) {
	k, ok := find(l.keys, name)
	switch {
	case !ok:
		l.add(at, name, "there is no such %s%s", what, suggest.DidYouMean(at.name, prefix, known))
	case k.onlyInFile():
		l.add(at, name, "%s can only be set in the file", name)
	case strings.TrimSpace(text) == "" && l.given(name):
		l.add(at, name, "is empty, and would remove the value of %s; unset it, or remove that value", l.config.origins[name])
	default:
		l.put(k, name, at, k.split(text))
	}
}

// flags reads the flags that were set.
func (l *loader) flags(flags map[string]string) {
	known := lists.Map(public(l.keys), func(k Key) string { return "--" + k.Flag() })
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		l.give(origin{layer: Flag, name: "--" + Key{Name: name}.Flag()}, name, flags[name], "flag", known)
	}
}

const (
	// prefix is the prefix of our environment variables.
	prefix = "A2A_SERVER_"
	// FileVariable is the environment variable with the path of the file. Load ignores it: the
	// caller has put the path into [Source].
	FileVariable = prefix + "CONFIG"
	// URLVariable is the environment variable with the URL of the server, for commands. Load
	// ignores it, and the next variable.
	URLVariable = prefix + "URL"
	// TokenVariable is the environment variable with their credential.
	TokenVariable = prefix + "TOKEN"
)

// Lookup returns the value of a variable in an environment of NAME=value. If it is set twice, the
// last value counts.
func Lookup(env []string, name string) (value string, ok bool) {
	for _, line := range env {
		if v, is := strings.CutPrefix(line, name+"="); is {
			value, ok = v, true
		}
	}
	return value, ok
}

// notSettings are variables of ours that are no settings.
var notSettings = []string{FileVariable, URLVariable, TokenVariable}

// environment reads the server's variables. An unknown variable is an error: it is most likely
// misspelled.
func (l *loader) environment(environ []string) {
	keys := map[string]string{}
	for _, name := range notSettings {
		keys[name] = ""
	}
	for _, k := range l.keys {
		keys[Key{Name: k.name}.Variable()] = k.name
	}
	known := slices.Sorted(maps.Keys(keys))
	for _, line := range environ {
		name, text, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(name, prefix) || slices.Contains(notSettings, name) {
			continue
		}
		if key, ok := keys[name]; ok || !ofService(name, environ) {
			l.give(origin{layer: Environment, name: visible.Line(name)}, key, text, "setting", known)
		}
	}
}

func ofService(name string, environ []string) bool {
	return slices.ContainsFunc(environ, func(line string) bool {
		service, link, _ := strings.Cut(line, "_PORT=")
		more, is := strings.CutPrefix(name, service)
		return is && serviceLink.MatchString(link) && serviceVariable.MatchString(more)
	})
}

// Kubernetes tells every container about every service of its namespace, by variables that begin with the
// service's name, so that those of services called a2a-server or a2a-server-more look like the server's. Each
// service has a variable _PORT with a link.
var (
	serviceLink     = regexp.MustCompile(`^(tcp|udp|sctp)://`)
	serviceVariable = regexp.MustCompile(`^_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
)
