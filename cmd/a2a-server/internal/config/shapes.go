package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/internal/lists"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
)

var (
	argumentNames = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)
	headerNames   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	anyName       = regexp.MustCompile(`.`)
)

// plainItem is a text that needs no quotes in a list of YAML.
var plainItem = regexp.MustCompile(`^-{0,2}[A-Za-z0-9./_][A-Za-z0-9._/@+=-]*$`)

// inBrackets returns a list as YAML has it on one line. What is too long is cut.
func inBrackets(items ...string) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > 60 {
			b.WriteString("…")
			break
		}
		if text := visible.Clip(item, 60); plainItem.MatchString(text) && !strings.EqualFold(text, "null") {
			b.WriteString(text)
		} else {
			b.WriteString(strconv.Quote(text))
		}
	}
	return "[" + b.String() + "]"
}

// shellSyntax are characters that mean something to a shell, and nothing in a list.
const shellSyntax = "\"'`\\|&;<>$"

// shape reads the value of a key that is no text, which needs no problem to be set.
func (l *loader) shape(k key, n strictyaml.Node) {
	before := l.report.Count()
	v := readers()[k.tag.Get("as")](l, k, n)
	switch {
	case l.report.Count() > before:
	case v == nil:
		k.field.SetZero()
	default:
		k.field.Set(reflect.ValueOf(v))
	}
}

// A reader reads the value of a key with the tag as.
type reader func(l *loader, k key, n strictyaml.Node) any

// readers returns all readers, by the tag as.
func readers() map[string]reader {
	return map[string]reader{
		"secret":         func(l *loader, _ key, n strictyaml.Node) any { return secretOf(l, n) },
		"secrets":        func(l *loader, _ key, n strictyaml.Node) any { return secretsOf(l, n) },
		"place":          func(l *loader, _ key, n strictyaml.Node) any { return Value{At: l.place(n, placeExample)} },
		"URL or place":   func(l *loader, _ key, n strictyaml.Node) any { return urlOrPlaced(l, n) },
		"claim":          fromOf,
		"header":         fromOf,
		"roles claim":    rolesOf,
		"roles header":   rolesOf,
		"roles by group": rolesByGroup,
		"people":         peopleOf,
		"condition":      func(_ *loader, _ key, n strictyaml.Node) any { return compiled(n, condition.Compile) },
		"decider":        func(_ *loader, _ key, n strictyaml.Node) any { return compiled(n, condition.CompileDecider).String() },
		"who":            names("callers, roles, tenants, agents or annotations, or remove who for all calls"),
		"approvers":      names("roles or subjects, which when narrows, or remove approvers if every caller with the right may decide"),
		"for":            names("roles or callers, or remove for: if the tools are for all callers"),
		"grants":         names(""),
		"approve":        approveOf,
		"argv":           argv,
		"schemas":        schemas,
		"environment":    environmentOf,
		"headers":        headersOf,
		"form":           formOf,
		"body":           bodyOf,
		"pins":           pinsOf,
	}
}

// shapeText returns the value of such a key as JSON that is YAML, too.
func shapeText(k key) string {
	shown := k.field.Interface()
	switch v := shown.(type) {
	case *approval.GrantTerms:
		shown = shownGrants(v)
	case From:
		switch {
		case v.Name != "":
			shown = map[string]string{k.source(): v.Name}
		case v.Text == "":
			shown = nil
		default:
			shown = v.Text
		}
	case RolesFrom:
		if shown = v.Fixed; v.Name != "" {
			shown = map[string]any{k.source(): v.Name, "map": v.Map}
		}
	case Approve:
		switch all := slices.Contains(v, "*"); {
		case v != nil && !k.ofSeveral():
			return strconv.FormatBool(all)
		case all:
			return "all"
		case v != nil && len(v) == 0:
			return "none"
		}
	}
	text, err := strictjson.Plain(shown)
	if err != nil {
		panic("the value of " + k.name + ": " + err.Error()) // it was read from YAML
	}
	return escapeControl(string(text))
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

// shownGrants returns t as its reader reads it.
func shownGrants(t *approval.GrantTerms) any {
	if t == nil {
		return nil
	}
	longest := ""
	if t.Max > 0 {
		longest = setting.Duration(&t.Max, 0).String()
	}
	return struct {
		Scopes []approval.GrantScope `json:"scopes"`
		Max    string                `json:"max,omitempty"`
		Uses   int                   `json:"uses,omitempty"`
		Vary   []string              `json:"vary,omitempty"`
	}{t.Scopes, longest, t.Uses, t.Vary}
}

// argv reads a list of texts.
func argv(l *loader, _ key, n strictyaml.Node) any {
	more := "; write it as [program, argument]"
	switch text, is := n.Scalar(); {
	case !is:
	case text == "" || strings.ContainsAny(text, shellSyntax):
		more = "; there is no shell that would read it: write it as [program, argument]"
	default:
		more = "; there is no shell that would split it: write it as " + inBrackets(strings.Fields(text)...)
	}
	items, ok := n.Items("a list", more)
	var all []string
	for _, item := range items {
		text, is := item.One()
		if ok = ok && is; strings.ContainsRune(text, 0) {
			item.Add("has a NUL character, which no argument can have; remove it")
		}
		l.template(item, text, "every user of the machine can read the arguments of a process; put the secret into env")
		all = append(all, text)
	}
	if ok && (len(all) == 0 || all[0] == "") {
		n.Add("names no program; write it as [program, argument]")
	}
	return all
}

// readText reads a text that passes all checks.
func readText(n strictyaml.Node, checks ...func(string) error) (text string) {
	n.Into(setting.Text(&text, "", checks...))
	return text
}

// readTexts reads a list of texts that pass all checks; nil: it is no list. what and more are for
// [strictyaml.Node.Expected].
func readTexts(n strictyaml.Node, what, more string, checks ...func(string) error) []string {
	items, ok := n.Items(what, more)
	if !ok {
		return nil
	}
	all := []string{}
	for _, item := range items {
		all = append(all, readText(item, checks...))
	}
	return all
}

// byName reads a mapping with names that match valid, and values that read returns.
func byName[V any](n strictyaml.Node, what, example string, valid *regexp.Regexp, read func(strictyaml.Node) V) map[string]V {
	members, _ := n.Members(what+" by name", "; write them as "+example)
	all := map[string]V{}
	for _, m := range members {
		if !valid.MatchString(m.Name) {
			m.Key.Add("%s is not a name that is possible here; write it as in %s", quote(m.Name), example)
			continue
		}
		all[m.Name] = read(m.Value)
	}
	return all
}

// The keywords of JSON Schema 2020-12, and open and mayBeMissing of a file. The first three have a
// schema, a list of schemas, and schemas by name.
var (
	schemaInside = strings.Fields(`items contains unevaluatedItems additionalProperties unevaluatedProperties propertyNames
		not if then else contentSchema`)
	schemaLists    = strings.Fields(`prefixItems allOf anyOf oneOf`)
	schemasByName  = strings.Fields(`properties patternProperties dependentSchemas $defs definitions`)
	schemaKeywords = slices.Concat(schemaInside, schemaLists, schemasByName, strings.Fields(`type description title default enum const
		pattern format minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
		minItems maxItems uniqueItems minContains maxContains required minProperties maxProperties dependentRequired
		examples deprecated readOnly writeOnly contentEncoding contentMediaType
		$id $schema $ref $anchor $dynamicRef $dynamicAnchor $vocabulary $comment open mayBeMissing`))
)

// schemas reads the JSON Schemas of arguments.
func schemas(_ *loader, _ key, n strictyaml.Node) any {
	return byName(n, "JSON Schemas", "service: {type: string}", argumentNames, func(n strictyaml.Node) any {
		switch text, is := n.Scalar(); {
		case n.IsMapping():
			return schemaOf(n, 0)
		case is && (text == "true" || text == "false") && !n.IsText():
			n.Add("%s as a schema accepts everything or nothing; write the type of the argument, as in {type: string}", text)
		default:
			n.Expected("a JSON Schema", "; write it as {type: string}")
		}
		return nil
	})
}

// schemaOf reads a schema. Unknown keywords of it and of the schemas in it are refused, since a misspelled
// pattern would check nothing; names that begin with x- are free.
func schemaOf(n strictyaml.Node, depth int) any {
	switch _, scalar := n.Scalar(); {
	case scalar: // true, false, or what the compiler refuses
		return n.JSON()
	case !n.IsMapping():
		n.Expected("a JSON Schema", "; write it as {type: string}")
		return nil
	case depth > strictyaml.MaxDepth:
		n.Add("nested deeper than %d", strictyaml.MaxDepth)
		return nil
	}
	schema := map[string]any{}
	keywords, _ := n.Members("", "")
	for _, k := range keywords {
		switch {
		case slices.Contains(schemaInside, k.Name):
			schema[k.Name] = schemaOf(k.Value, depth+1)
		case slices.Contains(schemaLists, k.Name):
			items, _ := k.Value.Items("a list of JSON Schemas", "; write it as [{type: string}]")
			schema[k.Name] = lists.Map(items, func(n strictyaml.Node) any { return schemaOf(n, depth+1) })
		case slices.Contains(schemasByName, k.Name):
			all := map[string]any{}
			members, _ := k.Value.Members("JSON Schemas by name", "; write them as service: {type: string}")
			for _, m := range members {
				all[m.Name] = schemaOf(m.Value, depth+1)
			}
			schema[k.Name] = all
		default:
			if !slices.Contains(schemaKeywords, k.Name) && !strings.HasPrefix(k.Name, "x-") {
				k.Unknown(schemaKeywords)
			}
			schema[k.Name] = k.Value.JSON()
		}
	}
	return schema
}

func environmentOf(l *loader, _ key, n strictyaml.Node) any {
	return byName(n, "texts", "LANG: C.UTF-8 or TOKEN: {secret: jira}", variable, func(n strictyaml.Node) Value { return valueOf(l, n) })
}

// valueOf reads a text, or a reference to a secret.
func valueOf(l *loader, n strictyaml.Node) Value {
	if n.IsMapping() {
		var v Value
		l.mapping(n, keysOf(&v), "", "", "")
		if v.Secret != "" {
			l.reference(v.Secret, func(format string, args ...any) { l.at(n.Path()+".secret", format, args...) })
		}
		return v
	}
	text, _ := n.One()
	if m := secretIn.FindStringSubmatch(text); m != nil {
		n.Add("a secret is the whole value here; write {secret: %s}, without quotes around it", visible.Clip(m[1], 60))
	}
	if strings.ContainsRune(text, 0) {
		n.Add("has a NUL character, which no variable can have; remove it")
	}
	return Value{Text: text}
}

func headersOf(l *loader, _ key, n strictyaml.Node) any {
	lower := map[string]string{}
	return byName(n, "headers", `Authorization: "Bearer {secret:jira}"`, headerNames, func(n strictyaml.Node) string {
		name := n.Path()[strings.LastIndexByte(n.Path(), '.')+1:]
		if first, twice := lower[strings.ToLower(name)]; twice {
			n.Add("is the same header as %s; remove one", quote(first))
		}
		lower[strings.ToLower(name)] = name
		if n.IsMapping() {
			n.Expected("a text", `; put it in quotes, as in Authorization: "Bearer {secret:jira}"`)
			return ""
		}
		text, _ := n.One()
		l.template(n, text, "")
		return text
	})
}

const onlyHeaders = "a secret goes into a header, as in header: {Authorization: \"Bearer {secret:jira}\"}"

// approveOf reads the tools that need approval: the named tools of an entry that has several,
// or its only tool.
func approveOf(l *loader, k key, n strictyaml.Node) any {
	several := k.ofSeveral()
	yes, no, form := "true", "false", "true or false"
	if several {
		yes, no, form = "all", "none", "all, none, or a list of names"
	}
	text, is := n.Scalar()
	switch {
	case is && strings.EqualFold(text, yes):
		return Approve{"*"}
	case is && strings.EqualFold(text, no):
		return Approve{}
	case is || n.Null() || !several:
		n.Expected(form, "")
		return nil
	}
	names := readTexts(n, form, "")
	if names != nil && len(names) == 0 {
		n.Add("is an empty list; write none, if no tool has to be approved")
	}
	l.refuseKey(slices.Contains(names, "*"), n.Path(), noName)
	return Approve(names)
}

// names returns the reader of a mapping with lists of names, of which any but not all may be missing. None may be
// empty: it would name everybody where it is to name nobody. write says what to write; "": the keys say it.
func names(write string) reader {
	return func(l *loader, k key, n strictyaml.Node) any {
		to := reflect.New(k.field.Type().Elem()).Interface()
		before, all := l.count(), keysOf(to)
		l.mapping(n, all, "", "a mapping with "+strictyaml.List(known(all)), "")
		lists := slices.DeleteFunc(all, func(k key) bool { return !k.isList() })
		switch {
		case write == "" || l.count() > before:
		case !slices.ContainsFunc(lists, func(k key) bool { return k.field.Len() > 0 }):
			n.Add("is empty; write %s", write)
		default:
			for _, k := range lists {
				path := n.Path() + "." + k.name
				l.refuseKey(l.given(path) && k.field.Len() == 0, path, "is empty; name somebody, or remove it")
			}
		}
		return to
	}
}

func formOf(l *loader, _ key, n strictyaml.Node) any {
	return byName(n, "texts", `summary: "{summary}"`, anyName, func(n strictyaml.Node) string {
		text, _ := n.One()
		l.template(n, text, onlyHeaders)
		return text
	})
}

func bodyOf(l *loader, _ key, n strictyaml.Node) any {
	if n.Null() {
		n.Add("has no value; write what is sent, or remove the line")
		return nil
	}
	n.Quoted()
	v := n.JSON()
	checkInside(l, n, v)
	return v
}

// checkInside checks the references to secrets in all texts of v.
func checkInside(l *loader, n strictyaml.Node, v any) {
	switch v := v.(type) {
	case string:
		l.template(n, v, onlyHeaders)
	case []any:
		for _, item := range v {
			checkInside(l, n, item)
		}
	case map[string]any:
		for name, item := range v {
			l.template(n, name, onlyHeaders)
			checkInside(l, n, item)
		}
	}
}

var aDigest = matching(`^[0-9A-Fa-f]{64}$`, "%s is not a digest; copy the 64 hexadecimal digits that 'a2a-server tools show' prints")

func pinsOf(_ *loader, _ key, n strictyaml.Node) any {
	pins := byName(n, "digests", "read_file: 3f2a…", anyName, func(n strictyaml.Node) string {
		return strings.ToLower(readText(n, aDigest))
	})
	if n.IsMapping() && len(pins) == 0 {
		n.Add("is empty, so no tool would be offered; write a digest, or remove pins to offer all")
	}
	return pins
}
