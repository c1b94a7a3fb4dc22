package config

import (
	"fmt"
	"strings"
	"unicode"

	"a2a-server/internal/lists"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/strictyaml"
)

// Key describes a setting, for flags and for the reference. Settings with keys of their own,
// such as gates, can only be set in the file; at the top of the file they are not a Key.
type Key struct {
	Name    string // as in the file, such as log.level
	Value   string // how its value is written, such as "a duration such as 10s or 5m"
	Default string // as it is written; "" for none
	Meaning string // sentences
}

// Flag returns the name of k's flag without leading dashes, such as log-level.
func (k Key) Flag() string { return dashes.Replace(k.Name) }

var dashes = strings.NewReplacer(".", "-", "_", "-")

// Variable returns the name of k's environment variable, such as A2A_SERVER_LOG_LEVEL.
func (k Key) Variable() string { return prefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_")) }

// Keys returns all keys in the order of the reference.
func Keys() []Key { return public((&Config{}).keys()) }

func public(keys []key) []Key {
	var all []Key
	for _, k := range keys {
		if k.form != "" {
			all = append(all, Key{Name: k.name, Value: k.form, Default: k.fallback, Meaning: k.meaning})
		}
	}
	return all
}

// key is a setting bound to its variable, with everything that loading, [Show] and the
// reference need. The name of a key in a section has a dot.
type key struct {
	name, fallback string // fallback is the default, as written in a flag
	form, meaning  string

	list   bool
	single bool                                                  // a list of one may be written without brackets
	set    func(texts []string, wrong func(item int, err error)) // after wrong the variable is unchanged; item -1: all of them
	texts  func() []string                                       // the value, as set accepts it

	// For a list of mappings; otherwise nil.
	noun, example string
	entry         func(*loader, strictyaml.Node)      // reads an entry
	entries       func() (all [][]key, blank [][]key) // blank has the keys of each entry with their defaults

	// For a value of any shape, which only the file can have; otherwise nil. The text of
	// texts is then JSON; null: it was not given.
	read func(*loader, strictyaml.Node)

	needs    []need  // without these keys it is of no use
	required bool    // in an entry
	reload   bool    // a running server reads it again
	path     *string // of a file; made absolute

	// unset describes the server without this key, if no value does.
	unset string

	// elsewhere says where a key is known that is not allowed here; "": here.
	elsewhere string
}

// onlyInFile reports whether k can be set neither in a variable nor in a flag.
func (k key) onlyInFile() bool { return k.entry != nil || k.read != nil }

// shaped returns a key with a value of any shape, which Show writes as the JSON of the
// variable. read adds the problems of the value, which is then not set.
func shaped[T any](name, form string, to *T, read func(*loader, strictyaml.Node) T, meaning string) key {
	return key{
		name: name, form: form, meaning: meaning,
		read: func(l *loader, n strictyaml.Node) {
			before := l.report.Count()
			if v := read(l, n); l.report.Count() == before {
				*to = v
			}
		},
		texts: func() []string { return []string{jsonText(name, to)} },
	}
}

// jsonText returns the value of a key as JSON that is YAML, too.
func jsonText(name string, v any) string {
	text, err := strictjson.Plain(v)
	if err != nil {
		panic("the value of " + name + ": " + err.Error()) // it was read from YAML
	}
	return escapeControl(string(text))
}

// file returns a key with the path of a file or a folder. In the configuration file it is
// relative to the folder of that file, elsewhere to the working directory.
func file(name string, to *string, meaning string) key {
	k := one(name, "", setting.Text(to, "a path", setting.OneLine), meaning)
	k.path = to
	return k
}

func reloaded(k key) key {
	k.reload = true
	return k
}

// need is a key that another key has no effect without, and why.
type need struct{ key, why string }

func needing(k key, other, why string) key {
	k.needs = append(k.needs, need{other, why})
	return k
}

func required(k key) key {
	k.required, k.meaning = true, "Required. "+k.meaning
	return k
}

// escapeControl escapes characters that JSON leaves as they are and YAML forbids.
func escapeControl(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) || r == '\uFEFF' {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// one returns a key with a single value.
func one(name, fallback string, v setting.Value, meaning string) key {
	return key{
		name: name, fallback: fallback, form: v.Form(), meaning: meaning,
		set: func(texts []string, wrong func(int, error)) {
			if err := v.UnmarshalText([]byte(texts[0])); err != nil {
				wrong(-1, err)
			}
		},
		texts: func() []string { return []string{v.String()} },
	}
}

// many returns a key with a list of different values that passes all checks. If it has a
// default, the list must not be empty.
func many[T comparable](name, fallback string, to *[]T, item func(*T) setting.Value, meaning string, checks ...func([]T) error) key {
	return key{
		name: name, fallback: fallback, form: "a list, each " + item(new(T)).Form(), meaning: meaning, list: true,
		set: func(texts []string, wrong func(int, error)) {
			good, all, seen := true, make([]T, len(texts)), map[T]bool{}
			for i, text := range texts {
				err := item(&all[i]).UnmarshalText([]byte(text))
				if err == nil && seen[all[i]] {
					err = fmt.Errorf("%s is in the list twice; remove one", quote(text))
				}
				if seen[all[i]] = true; err != nil {
					good = false
					wrong(i, err)
				}
			}
			if len(all) == 0 && fallback != "" {
				good = false
				wrong(-1, fmt.Errorf("is empty; write at least one entry, or remove the line for %s", strings.ReplaceAll(fallback, ",", " and ")))
			}
			for _, check := range checks {
				if err := check(all); good && err != nil {
					good = false
					wrong(-1, err)
				}
			}
			if good {
				*to = all
			}
		},
		texts: func() []string {
			return lists.Map(*to, func(v T) string { return item(&v).String() })
		},
	}
}

// mappings returns a key with a list of mappings, which have keys of their own, possibly lists
// of mappings again. check validates a whole entry, n. noun is the word for an entry, and
// example how an entry begins.
func mappings[T any](name, noun, example string, to *[]T, keys func(*T) []key, check func(l *loader, entry *T, n strictyaml.Node)) key {
	return key{
		name: name, noun: noun, example: example,
		entry: func(l *loader, n strictyaml.Node) {
			var v T
			of := keys(&v)
			setDefaults(of)
			if l.mapping(n, of, "", "a "+noun, "; write its keys, as in "+example) {
				check(l, &v, n)
				*to = append(*to, v)
			}
		},
		entries: func() (all [][]key, blank [][]key) {
			for i := range *to {
				all, blank = append(all, keys(&(*to)[i])), append(blank, keys(new(T)))
			}
			return all, blank
		},
	}
}

// setDefaults sets every variable to its default, or to Go's zero value if it has none.
func setDefaults(keys []key) {
	for _, k := range keys {
		if k.fallback != "" && k.read == nil {
			k.set(k.split(k.fallback), func(_ int, err error) { panic("the default of " + k.name + ": " + err.Error()) })
		}
	}
}

// split returns the items of a value from the environment or a flag.
func (k key) split(text string) []string {
	switch {
	case !k.list:
		return []string{text}
	case strings.TrimSpace(text) == "":
		return nil
	}
	return lists.Map(strings.Split(text, ","), strings.TrimSpace)
}

func find(keys []key, name string) (key, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}
