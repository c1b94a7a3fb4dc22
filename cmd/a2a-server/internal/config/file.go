package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/privatefile"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
)

// maxPath is how much of a path a problem quotes, in characters: the end tells paths apart.
const maxPath = 400

// quote returns text as problems quote it.
func quote(text string) string { return visible.Quote(text, 60) }

// read reads the keys of a file. root is what the paths of its keys begin with; "": it is the
// configuration, and may be empty.
func (l *loader) read(path, root string, keys []key) {
	l.report = &strictyaml.Report{File: visible.Line(path), Root: root}
	l.reports[path] = l.report
	l.from = path
	if err := privatefile.CheckWriters(path); err != nil {
		l.add(origin{layer: File, name: path}, root, "%s", visible.Line(err.Error()))
	}
	switch n, ok := l.report.Open(path); {
	case !ok:
	case root != "" && n.Null():
		n.Add("the file is empty; write its gates, or gates: [] if it has none")
	case root != "":
		if l.mapping(n, keys, "", "keys with values", "; write them as gates: [...]") && !l.given(root+".gates") {
			n.Add("has no gates; write them, or gates: [] if it has none")
		}
	case !n.Null():
		l.mapping(n, keys, "", "keys with values", "; write them as listen: 127.0.0.1:8080")
	}
}

// mapping reads the members of n, whose keys are the entries of keys that begin with prefix.
// The last two arguments are for [strictyaml.Node.Expected].
func (l *loader) mapping(n strictyaml.Node, keys []key, prefix, what, more string) bool {
	members, ok := n.Members(what, more)
	for _, m := range members {
		section, name, dotted := strings.Cut(m.Name, ".")
		m.Name = prefix + m.Name
		below := keysBelow(keys, m.Name)
		k, isKey := find(keys, m.Name)
		switch {
		case isKey && dotted:
			m.Key.Add("is two keys; write %s: and, below it, %s:", section, name)
		case isKey && k.elsewhere != "":
			m.Key.Add("is a key of %s; remove it", k.elsewhere)
		case isKey:
			l.member(k, m)
		case len(below) == 0:
			m.Unknown(known(keys))
		case m.Value.Null(): // all of its keys are commented out
		case slices.ContainsFunc(below, key.secret) && !slices.ContainsFunc(m.Value.Names(), func(name string) bool {
			return len(keysBelow(below, m.Name+"."+name)) > 0
		}):
			l.mapping(m.Value.Withheld(), keys, m.Name+".", "keys below it", "")
		default:
			l.mapping(m.Value, keys, m.Name+".", "keys below it", "")
		}
	}
	if ok && prefix == "" && n.Path() != "" {
		l.complete(n, slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return k.elsewhere != "" }))
	}
	return ok
}

// keysBelow returns the keys of a section, or the key itself.
func keysBelow(keys []key, name string) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return !strings.HasPrefix(k.name+".", name+".") })
}

// complete checks that an entry has the keys that it and its keys need, and makes its paths absolute.
func (l *loader) complete(n strictyaml.Node, keys []key) {
	for _, k := range keys {
		missing := n.Below(k.name)
		path := missing.Path()
		for _, need := range k.needs() {
			other, _ := find(keys, need[0])
			l.refuseKey(l.given(path) && other.field.IsZero() && l.sound(n.Path()+"."+need[0]), path, noEffect, need[1], need[0])
		}
		switch {
		case k.tagged("required") && !l.given(path):
			missing.Add("is missing; write %s", k.form())
		case k.path() == nil || l.refused[path]:
		case k.tagged("required") && *k.path() == "":
			l.refused[path] = true
			l.at(path, "is empty; write %s", k.form())
		default:
			l.locate(path, k.path())
		}
	}
}

// known returns everything that can be written at the level of keys, including sections.
func known(keys []key) []string {
	var all []string
	for _, k := range keys {
		if k.elsewhere != "" {
			continue
		}
		all = append(all, k.name)
		for i, c := range k.name {
			if section := k.name[:i]; c == '.' && !slices.Contains(all, section) {
				all = append(all, section)
			}
		}
	}
	return all
}

// member reads the value of a key.
func (l *loader) member(k key, m strictyaml.Member) {
	n, before := m.Value, l.count()
	if k.secret() {
		n = n.Withheld()
	}
	at := origin{layer: File, name: l.from, at: n.Place(), key: m.Key.Place()}
	l.config.origins[n.Path()] = at
	var texts []string
	var items []origin
	switch {
	case k.tagged("required") && n.Null():
		n.Add("has no value; write %s", k.form())
	case k.isEntries() && n.Null() && l.report.Root == "": // all of its entries are commented out
		l.blank = l.blank || k.name == "gates"
		return
	case k.isEntries():
		entries, _ := n.Items("a list", "; begin each "+k.tag.Get("noun")+" with a dash, as in "+k.tag.Get("example"))
		for _, entry := range entries {
			l.entry(k, entry)
		}
		return
	case k.isShape():
		l.shape(k, n)
	case k.isList() && n.Null():
		n.Add("has no value; write a list, or remove the line for the default")
	case k.isList():
		more := "; write it as [one, two]"
		text, single := n.Scalar()
		if single && k.gate() != nil {
			texts = []string{text}
			break
		}
		if single {
			more = "; write it in brackets, as in " + inBrackets(text)
		}
		values, _ := n.Items("a list", more)
		for _, v := range values {
			text, _ := v.One()
			texts, items = append(texts, text), append(items, origin{layer: File, name: l.from, at: v.Place()})
		}
	default:
		text, _ := n.One()
		texts = []string{text}
	}
	switch {
	case l.count() > before:
		l.refused[n.Path()] = true
	case !k.isShape():
		l.put(k, n.Path(), at, texts, items...)
	}
}

// entry reads an entry of a list of mappings.
func (l *loader) entry(k key, n strictyaml.Node) {
	v := reflect.New(k.field.Type().Elem())
	t, isTool := v.Interface().(*Tool)
	var elsewhere []key
	if isTool {
		t.Kind = kindOf(n)
		elsewhere = t.elsewhere()
	}
	keys := keysOf(v.Interface())
	setDefaults(keys)
	switch {
	case isTool && t.Kind == "": // the other entries keep their places
	case !l.mapping(n, append(keys, elsewhere...), "", "a "+k.tag.Get("noun"), "; write its keys, as in "+k.tag.Get("example")):
		return
	default:
		l.check(v.Interface(), n)
	}
	k.field.Set(reflect.Append(k.field, v.Elem()))
}

// check adds the problems of keys of an entry that depend on each other. It may set defaults that depend on
// other keys.
func (l *loader) check(entry any, n strictyaml.Node) {
	switch entry := entry.(type) {
	case *Tool:
		checkTool(l, entry, n)
	case *approval.Gate:
		checkGate(l, entry, n)
	case *OIDC:
		checkOIDC(l, entry, n)
	case *SocketUser:
		checkSocketUser(l, entry, n)
	case *Route:
		checkRoute(l, entry, n)
	}
}

// given reports whether the key at path was set, to whatever.
func (l *loader) given(path string) bool {
	_, is := l.config.origins[path]
	return is
}

// has reports whether the key at path was set to a valid value.
func (l *loader) has(path string) bool { return l.given(path) && !l.refused[path] }

// locate makes the path of a key absolute. In the file it is relative to the file's folder,
// elsewhere to the working directory.
func (l *loader) locate(name string, path *string) {
	if *path == "" || !l.sound(name) {
		return
	}
	written := *path
	from := l.config.origins[name]
	if from.layer == File && !filepath.IsAbs(*path) {
		*path = filepath.Join(filepath.Dir(from.name), *path)
	}
	abs, err := filepath.Abs(*path)
	if err != nil {
		l.at(name, "%s is relative to a folder that cannot be found: %v; write an absolute path", quote(written), err)
		return
	}
	*path = abs
}
