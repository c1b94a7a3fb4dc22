package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/lists"
	"a2a-server/internal/setting"
)

// Key describes a setting, for flags and for the reference. Settings with keys of their own,
// such as gates, can only be set in the file; at the top of the file they are not a Key.
type Key struct {
	Name    string // as in the file, such as log.level
	Value   string // how its value is written, such as "a duration such as 10s or 5m"
	Default string // as it is written; "" for none
	Meaning string // sentences
	List    bool
	HasFlag bool // for operators who type it
}

// Flag returns the name of k's flag without leading dashes, such as log-level.
func (k Key) Flag() string { return dashes.Replace(k.Name) }

var dashes = strings.NewReplacer(".", "-", "_", "-")

// Variable returns the name of k's environment variable, such as A2A_SERVER_LOG_LEVEL.
func (k Key) Variable() string { return prefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_")) }

// Keys returns all keys in the order of the reference.
func Keys() []Key { return public(keysOf(&Config{})) }

func public(keys []key) []Key {
	var all []Key
	for _, k := range keys {
		if form := k.form(); form != "" {
			all = append(all, Key{Name: k.name, Value: form, Default: k.fallback(), Meaning: k.meaning(), List: k.isList(), HasFlag: k.tagged("flag")})
		}
	}
	return all
}

// key is a field of a struct that an operator sets: flags, variables, the file, its checks, [Show] and
// docs/configuration.md are made of these fields. Its tags are
//
//	yaml      the name in the file; a struct without the tag as is a section, and ",inline" has no name
//	default   as in a variable; without it the zero value
//	doc       sentences for the reference
//	form      how the value is written; without it this follows from the type and the tags below
//	fill      a text with one line that is not empty: the tag says what to write
//	text      another kind of text, see [texts]
//	oneof, min, max, or  the syntax of values, see [setting.Field]
//	everybody the harm that every client could do if the networks had all addresses
//	as        a value that is no text, see [readers]
//	needs     the keys without which it has no effect, as "key: why" and separated by |
//	flag      it has a flag, as operators type it
//	reload    a running server reads it again
//	required  an entry has it; kinds lists the kinds of an entry that have it, and needed says that these need it
//	noun      an entry of a list of mappings; example is how one begins
//	unset     the server without this key, if no layer has it
type key struct {
	name  string // with its sections, such as log.level
	field reflect.Value
	tag   reflect.StructTag
	owner any // the struct of an entry, or the Config

	// elsewhere says where a key is known that is not allowed here; "": here.
	elsewhere string
}

// keysOf returns the keys of a struct that is a Config, an entry of a list, or a value with keys of its own.
func keysOf(owner any) []key {
	all := fieldsOf(owner, "", reflect.ValueOf(owner).Elem())
	if t, is := owner.(*Tool); is && t.Kind != "" {
		kind := toolKinds[slices.Index(Kinds(), t.Kind)]
		all = slices.DeleteFunc(all, func(k key) bool { return !k.hasKind(string(t.Kind)) })
		all = append([]key{{name: string(t.Kind), field: reflect.ValueOf(&t.Name).Elem(), tag: kind.tag, owner: t}}, all...)
	}
	return all
}

func fieldsOf(owner any, section string, v reflect.Value) (all []key) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, has := f.Tag.Lookup("yaml")
		k := key{name: section + name, field: v.Field(i), tag: f.Tag, owner: owner}
		switch {
		case !has:
		case name == ",inline":
			all = append(all, fieldsOf(owner, section, k.field)...)
		case f.Type.Kind() == reflect.Struct && k.tag.Get("as") == "":
			all = append(all, fieldsOf(owner, k.name+".", k.field)...)
		default:
			all = append(all, k)
		}
	}
	return all
}

func find(keys []key, name string) (key, bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// hasKind reports whether entries of a kind have the key.
func (k key) hasKind(kind string) bool {
	kinds, limited := k.tag.Lookup("kinds")
	return !limited || slices.Contains(strings.Fields(kinds), kind)
}

func (k key) tagged(tag string) bool { return k.tag.Get(tag) != "" }
func (k key) isShape() bool          { return k.tagged("as") }
func (k key) isEntries() bool        { return k.tagged("noun") }
func (k key) isList() bool           { return k.field.Kind() == reflect.Slice && !k.isShape() && !k.isEntries() }

// onlyInFile reports whether k can be set neither in a variable nor in a flag.
func (k key) onlyInFile() bool { return k.isEntries() || k.isShape() }

// gate returns the gate whose tools k is: they may be a name without brackets, and have two fields.
func (k key) gate() *approval.Gate {
	g, _ := k.owner.(*approval.Gate)
	if k.name != "tool" {
		return nil
	}
	return g
}

// secret reports whether k is a secret, or a place for the name or the file of a secret: its text may be the
// secret itself, by mistake.
func (k key) secret() bool {
	return slices.Contains([]string{"file", "secret name"}, k.tag.Get("text")) ||
		slices.Contains([]string{"secret", "secrets", "place", "URL or place", "headers", "environment"}, k.tag.Get("as"))
}

// path returns the path of a file or a folder that k is; nil: it is none. In the configuration file it is
// relative to the folder of that file, elsewhere to the working directory.
func (k key) path() *string {
	if kind := k.tag.Get("text"); kind != "path" && kind != "file" {
		return nil
	}
	to, _ := k.field.Addr().Interface().(*string)
	return to
}

// ofSeveral reports whether k is of an entry with several tools.
func (k key) ofSeveral() bool {
	t, is := k.owner.(*Tool)
	return is && t.Kind.Prefixes()
}

// fallback returns the default, as it is written.
func (k key) fallback() string {
	if written, has := k.tag.Lookup("default"); has || k.field.Kind() != reflect.Bool {
		return written
	}
	return "false"
}

func (k key) meaning() string {
	if k.tagged("required") {
		return "Required. " + k.tag.Get("doc")
	}
	return k.tag.Get("doc")
}

// form returns how the value is written; "": it has keys of its own.
func (k key) form() string {
	form := k.tag.Get("form")
	switch {
	case k.onlyInFile() || form != "":
		return form
	case k.isList():
		return "a list, each " + k.scalar(reflect.New(k.field.Type().Elem()).Elem()).Form()
	}
	return k.scalar(k.field).Form()
}

// needs returns the keys without which k has no effect, and why.
func (k key) needs() (needs [][2]string) {
	for need := range strings.SplitSeq(k.tag.Get("needs"), " | ") {
		if name, why, _ := strings.Cut(need, ": "); name != "" {
			needs = append(needs, [2]string{name, cmp.Or(why, "it would have no effect")})
		}
	}
	return needs
}

// scalar returns the syntax of v, which is the field of k or an item of its list.
func (k key) scalar(v reflect.Value) setting.Value {
	kind, fill := k.tag.Get("text"), k.tag.Get("fill")
	if kind == "" && fill == "" {
		return setting.Field(v, k.tag)
	}
	to, _ := v.Addr().Interface().(*string)
	switch {
	case kind != "":
		return texts[kind](to) // TestReference panics at another word
	case strings.Contains(fill, "URL"):
		return setting.Text(to, fill, setting.NotEmpty(fill), setting.OneLine, noPassword)
	}
	return setting.Text(to, fill, setting.NotEmpty(fill), setting.OneLine)
}

// texts returns the value, as set accepts it. The value of a shape is JSON that is YAML, too; null: it was not given.
func (k key) texts() []string {
	switch {
	case k.isShape():
		return []string{shapeText(k)}
	case !k.isList():
		return []string{k.scalar(k.field).String()}
	case k.gate() != nil:
		return k.gate().Patterns()
	}
	texts := make([]string, k.field.Len())
	for i := range texts {
		texts[i] = k.scalar(k.field.Index(i)).String()
	}
	return texts
}

// set sets the value. After wrong it is unchanged; item -1: all of texts is wrong.
func (k key) set(texts []string, wrong func(item int, err error)) {
	if k.isList() {
		k.setList(texts, wrong)
	} else if err := k.scalar(k.field).UnmarshalText([]byte(texts[0])); err != nil {
		wrong(-1, err)
	}
}

// setList sets a list of different values. If it has a default, it must not be empty.
func (k key) setList(texts []string, wrong func(item int, err error)) {
	all, seen, good := reflect.MakeSlice(k.field.Type(), len(texts), len(texts)), map[string]bool{}, true
	for i, text := range texts {
		item := k.scalar(all.Index(i))
		err := item.UnmarshalText([]byte(text))
		if err == nil && seen[item.String()] {
			err = fmt.Errorf("%s is in the list twice; remove one", quote(text))
		}
		if seen[item.String()] = true; err != nil {
			good = false
			wrong(i, err)
		}
	}
	err := checkList(k.tag.Get("everybody"), all.Interface())
	switch {
	case len(texts) == 0 && k.fallback() != "":
		wrong(-1, fmt.Errorf("is empty; write at least one entry, or remove the line for %s", strings.ReplaceAll(k.fallback(), ",", " and ")))
	case len(texts) == 0 && k.gate() != nil:
		wrong(-1, fmt.Errorf("is empty; write %s", k.tag.Get("fill")))
	case good && err != nil:
		wrong(-1, err)
	case !good:
	case k.gate() != nil:
		k.gate().Tool, k.gate().Tools = texts[0], append([]string(nil), texts[1:]...)
	default:
		k.field.Set(all)
	}
}

// setDefaults sets every variable to its default.
func setDefaults(keys []key) {
	for _, k := range keys {
		if k.tagged("default") {
			k.set(k.split(k.fallback()), func(_ int, err error) { panic("the default of " + k.name + ": " + err.Error()) })
		}
	}
}

// split returns the items of a value from the environment or a flag.
func (k key) split(text string) []string {
	switch {
	case !k.isList():
		return []string{text}
	case strings.TrimSpace(text) == "":
		return nil
	}
	return lists.Map(strings.Split(text, ","), strings.TrimSpace)
}

// entries returns the keys of each entry of a list of mappings, and the same keys without values.
func (k key) entries() (all, blank [][]key) {
	for i := range k.field.Len() {
		entry, none := k.field.Index(i).Addr().Interface(), reflect.New(k.field.Type().Elem()).Interface()
		if t, is := entry.(*Tool); is {
			none = &Tool{Kind: t.Kind}
			setDefaults(keysOf(none))
		}
		all, blank = append(all, keysOf(entry)), append(blank, keysOf(none))
	}
	return all, blank
}
