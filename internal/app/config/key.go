package config

import (
	"strings"
)

// Key describes one setting, for flags and for the reference. Gates, which can only
// be written in the file, have none.
type Key struct {
	Name    string // as in the file, such as log.level
	Value   string // how its value is written, such as "a duration such as 10s or 5m"
	Default string // as it would be written; "" for none
	Meaning string // one or more sentences
}

// Flag returns the name of the flag of k, without dashes in front, such as log-level.
func (k Key) Flag() string { return strings.TrimPrefix(flagName(k.Name), "--") }

// Variable returns the name of the environment variable of k, such as
// A2A_SERVER_LOG_LEVEL.
func (k Key) Variable() string { return variable(k.Name) }

// Keys returns all keys in the order of the reference.
func Keys() []Key {
	var all []Key
	for _, k := range configKeys() {
		all = append(all, k.public())
	}
	return all
}

// key is one setting of a C, which is a [Config] or an approval.Gate: all that
// loading, showing and the reference need to know about it.
type key[C any] struct {
	name     string
	value    string // how it is written
	meaning  string
	list     bool
	fallback []string // the default: one text, or the items of a list
	// set parses texts into c. With any flaw, c is as it was.
	set func(c *C, texts []string) []flaw
	// texts returns the value of c such that set takes it.
	texts func(c *C) []string
}

// flaw is what is wrong with a text.
type flaw struct {
	item    int // of a list; -1: the list itself
	problem error
}

// one is a key with one value of the type T. The default is what fallback says.
func one[C, T any](name, fallback string, f form[T], field func(*C) *T, meaning string) key[C] {
	return key[C]{
		name: name, value: f.value, meaning: meaning, fallback: []string{fallback},
		set: func(c *C, texts []string) []flaw {
			v, err := f.parse(texts[0])
			if err != nil {
				return []flaw{{problem: err}}
			}
			*field(c) = v
			return nil
		},
		texts: func(c *C) []string { return []string{f.write(*field(c))} },
	}
}

// many is a key with a list of values. The default is nil.
func many[C any, T comparable](name string, f form[T], field func(*C) *[]T, meaning string) key[C] {
	return key[C]{
		name: name, value: "a list, each " + f.value, meaning: meaning, list: true,
		set: func(c *C, texts []string) []flaw {
			var all []T
			var flaws []flaw
			seen := map[T]bool{}
			for i, text := range texts {
				v, err := f.parse(text)
				switch {
				case err != nil:
					flaws = append(flaws, flaw{item: i, problem: err})
				case seen[v]:
					flaws = append(flaws, flaw{item: i, problem: wrong("%s is in the list twice; remove one", quote(text))})
				}
				seen[v] = true
				all = append(all, v)
			}
			if len(flaws) == 0 {
				*field(c) = all
			}
			return flaws
		},
		texts: func(c *C) []string {
			var all []string
			for _, v := range *field(c) {
				all = append(all, f.write(v))
			}
			return all
		},
	}
}

// some is k, a list that is never empty, with a default.
func some[C any](k key[C], fallback ...string) key[C] {
	set := k.set
	k.fallback = fallback
	k.set = func(c *C, texts []string) []flaw {
		if len(texts) == 0 {
			return []flaw{{item: -1, problem: wrong("is empty; write at least one entry, or remove the line for %s", strings.Join(fallback, " and "))}}
		}
		return set(c, texts)
	}
	return k
}

func (k key[C]) public() Key {
	return Key{Name: k.name, Value: k.value, Default: strings.Join(k.fallback, ","), Meaning: k.meaning}
}

// split returns the texts in one, as the environment and flags give it.
func (k key[C]) split(text string) []string {
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

func find[C any](keys []key[C], name string) (key[C], bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key[C]{}, false
}

// names returns how the keys are called elsewhere.
func names[C any](keys []key[C], as func(string) string) []string {
	var all []string
	for _, k := range keys {
		all = append(all, as(k.name))
	}
	return all
}

func flagName(name string) string {
	return "--" + strings.NewReplacer(".", "-", "_", "-").Replace(name)
}

func variable(name string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}
