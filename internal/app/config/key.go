package config

import (
	"fmt"
	"strings"

	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// Key describes one setting, for flags and for the reference. What has keys of its own,
// such as gates, can only be written in the file and has none.
type Key struct {
	Name    string // as in the file, such as log.level
	Value   string // how its value is written, such as "a duration such as 10s or 5m"
	Default string // as it would be written; "" for none
	Meaning string // one or more sentences
}

// Flag returns the name of the flag of k, without dashes in front, such as log-level.
func (k Key) Flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.Name) }

// Variable returns the name of the environment variable of k, such as
// A2A_SERVER_LOG_LEVEL.
func (k Key) Variable() string { return prefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_")) }

// Keys returns all keys in the order of the reference.
func Keys() []Key { return public((&Config{}).keys()) }

func public(keys []key) []Key {
	var all []Key
	for _, k := range keys {
		if k.entry == nil {
			all = append(all, Key{Name: k.name, Value: k.form, Default: k.fallback, Meaning: k.meaning})
		}
	}
	return all
}

// key is a setting and its variable: all that loading, showing and the reference need to
// know about it. Its name has a dot in it when it belongs to a section.
type key struct {
	name, fallback string // fallback is the default, as a flag would give it
	form, meaning  string

	list  bool
	set   func(texts []string, wrong func(item int, err error)) // wrong: the variable is as it was; item -1: all of them
	texts func() []string                                       // the value, such that set takes it

	// For a list of mappings; else nil.
	noun, example string
	entry         func(*loader, strictyaml.Node) // reads one more
	entries       func() (all [][]key, blank []key)
}

// one is a key with one value.
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

// many is a key with a list of different values, which passes all checks. One with a
// default is never empty.
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
			var all []string
			for _, v := range *to {
				all = append(all, item(&v).String())
			}
			return all
		},
	}
}

// mappings is a key with a list of mappings, which have keys of their own; those may be
// lists of mappings again. check looks at a whole entry, which n is. noun is what an
// entry is called, and example how one begins.
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
		entries: func() (all [][]key, blank []key) {
			for i := range *to {
				all = append(all, keys(&(*to)[i]))
			}
			return all, keys(new(T))
		},
	}
}

// setDefaults gives every variable its default; that of what has none is Go's zero.
func setDefaults(keys []key) {
	for _, k := range keys {
		if k.fallback != "" {
			k.set(k.split(k.fallback), func(_ int, err error) { panic("the default of " + k.name + ": " + err.Error()) })
		}
	}
}

// split returns the texts in one, as the environment and flags give it.
func (k key) split(text string) []string {
	switch {
	case !k.list:
		return []string{text}
	case strings.TrimSpace(text) == "":
		return nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

func find(keys []key, name string) (key, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}
