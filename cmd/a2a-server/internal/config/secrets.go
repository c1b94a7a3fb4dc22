package config

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
)

// Secret says where a secret is kept: in an environment variable, or in a file. A Config
// never holds the secret itself.
type Secret struct {
	Env  string `json:"env,omitempty" yaml:"env" text:"variable" doc:"Variable of the server that has the secret."`
	File string `json:"file,omitempty" yaml:"file" text:"file" doc:"File that has the secret, at most 64 KiB, mode 0640 or less."`
}

// Value is a text, or the whole of a secret.
type Value struct {
	Text   string
	Secret string `yaml:"secret" required:"yes" text:"secret name"` // its name; "": it has none
	At     Secret // its place, without a name; zero: there is none
}

// MarshalJSON writes v as the file has it.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case v.Secret != "":
		return json.Marshal(map[string]string{"secret": v.Secret})
	case v.At != (Secret{}):
		return json.Marshal(v.At)
	}
	return json.Marshal(v.Text)
}

const secretExample = "jira: {env: JIRA_TOKEN}"

var (
	// secretName matches the names of secrets.
	secretName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)
	variable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// secretIn matches a reference to a secret in a text, also an invalid one.
	secretIn = regexp.MustCompile(`\{\s*secret\s*:\s*([^{}]*?)\s*\}`)
)

// secretOf reads a reference to a secret, and never the secret itself.
func secretOf(l *loader, n strictyaml.Node) Value {
	if !n.IsMapping() { // the value may be the secret itself
		n.Add("is not where the secret is; write {secret: NAME} and the secret's place under secrets, as in %s", secretExample)
		return Value{}
	}
	return valueOf(l, n)
}

func aVariable(name string) error {
	if !variable.MatchString(name) {
		// The written text may be the secret itself.
		return errors.New("is not the name of an environment variable; write letters, digits and _")
	}
	return nil
}

// secretsOf reads the key secrets.
func secretsOf(l *loader, n strictyaml.Node) map[string]Secret {
	if n.Null() {
		return nil
	}
	members, _ := n.Members("secrets by their name", "; write them as "+secretExample)
	all := map[string]Secret{}
	l.config.Secrets = all // also with a problem, so that references to a secret have none
	for _, m := range members {
		if !secretName.MatchString(m.Name) {
			m.Key.Add("%s is not a name for a secret; write at most 64 letters, digits, _, - and dots", quote(m.Name))
			continue
		}
		all[m.Name] = l.place(m.Value, secretExample)
	}
	return all
}

// place reads where a secret is kept, and never the secret itself.
func (l *loader) place(n strictyaml.Node, example string) (s Secret) {
	if !n.IsMapping() { // the value may be the secret itself
		n.Add("is not where the secret is; write that, as in %s, and never the secret itself", example)
		return s
	}
	l.mapping(n, keysOf(&s), "", "", "")
	env, file := l.given(n.Path()+".env"), l.given(n.Path()+".file")
	switch {
	case env && file:
		l.atKey(n.Path()+".file", "the secret has env, too; a secret is in one place, so remove one of the two")
	case !env && s.File == "" && l.sound(n.Path()+".file"):
		n.Add("names neither env nor file; write {env: NAME} or {file: PATH}")
	}
	return s
}

// reference notes a reference to a secret, which need not have been read yet. add adds a problem
// with the reference.
func (l *loader) reference(name string, add func(format string, args ...any)) {
	l.references = append(l.references, func() {
		if _, known := l.config.Secrets[name]; known {
			return
		}
		hint := suggest.DidYouMean(name, "", slices.Sorted(maps.Keys(l.config.Secrets)))
		if hint == "" {
			hint = "; add it under secrets, as in " + secretExample
		}
		add("there is no secret %s%s", quote(name), hint)
	})
}

// secretsIn returns the references to secrets in a text with placeholders, with their names.
func secretsIn(text string) [][]string {
	return secretIn.FindAllStringSubmatch(strings.NewReplacer("{{", "", "}}", "").Replace(text), -1)
}

// template checks the references to secrets in a text with placeholders, in which {{ and }}
// stand for braces. why says why there may be none; "": there may be some.
func (l *loader) template(n strictyaml.Node, text, why string) {
	for _, m := range secretsIn(text) {
		switch {
		case why != "":
			n.Add("%s is not allowed here: %s", quote(m[0]), why)
		case m[0] != "{secret:"+m[1]+"}":
			n.Add("%s has spaces; write {secret:%s}", quote(m[0]), m[1])
		default:
			l.reference(m[1], n.Add)
		}
	}
}
