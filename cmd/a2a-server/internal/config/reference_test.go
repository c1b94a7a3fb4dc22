package config_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/golden"
	"a2a-server/internal/lists"
	"a2a-server/tool"
)

func docs(name string) string { return filepath.Join("..", "..", "..", "..", "docs", name) }

//go:generate go test -count=1 -run ^TestReference$ . -update

// TestReference compares the lists of docs/configuration.md with the keys.
func TestReference(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]config.Key{
		"keys": config.Keys(), "gates": config.GateKeys(), "secrets": config.SecretKeys(),
		"notify": config.RouteKeys(), "oidc": config.IssuerKeys(), "socket": config.SocketKeys(),
	} {
		var lines strings.Builder
		for _, k := range keys {
			lines.WriteString(line(k, ""))
		}
		golden.Section(t, docs("configuration.md"), name, lines.String())
	}
	var lines strings.Builder
	for _, k := range config.AllToolKeys() {
		lines.WriteString(line(k.Key, kinds(k.Kinds)))
	}
	golden.Section(t, docs("configuration.md"), "tools", lines.String())
}

// items matches the value of a key that is a list of things with an article.
var items = regexp.MustCompile(`^a list, each an? ([A-Za-z ]+?)( such .*| from .*)?$`)

// network is the example in the value of a list of networks, which the page has once.
const network = " such as 10.0.0.0/8"

// bounded matches the value of a key whose default shows that it is a number, size or duration.
var bounded = regexp.MustCompile(`^a (number|size|duration)( from )?`)

// kinds returns the kinds of a key as its line has them.
func kinds(all []config.Kind) string {
	if len(all) == len(config.Kinds()) {
		return " of all"
	}
	var names []string
	for _, kind := range all {
		names = append(names, string(kind))
	}
	return " of " + strings.Join(names, ", ")
}

// line returns the line for a key.
func line(k config.Key, kinds string) string {
	value := strings.Replace(items.ReplaceAllString(k.Value, "list of ${1}s$2"), "a list, each ", "list: ", 1)
	if value = strings.TrimSuffix(value, network); k.Default != "" {
		value = bounded.ReplaceAllStringFunc(value, func(words string) string {
			if strings.HasSuffix(words, " from ") {
				return "from "
			}
			return ""
		})
	}
	about := []string{value}
	if value == "" || slices.Contains([]string{"true", "false"}, k.Default) || slices.Contains([]string{"a path", "a name", "a string", "a text", "a list, each a text"}, k.Value) {
		about = nil
	}
	if k.Default != "" {
		about = append(about, "`"+k.Default+"`")
	}
	if len(about) > 0 {
		kinds += " (" + strings.Join(about, "; ") + ")"
	}
	return "- `" + k.Name + "`" + kinds + ": " + strings.ReplaceAll(k.Meaning, "*", `\*`) + "\n"
}

// TestExample loads the example, which has every key.
func TestExample(t *testing.T) {
	t.Parallel()
	c := load(t, config.Source{File: docs("a2a-server.yaml")})
	for _, k := range config.Keys() {
		if c.Default(k.Name) {
			t.Errorf("docs/a2a-server.yaml does not set %s", k.Name)
		}
	}
	for _, k := range config.GateKeys() {
		if c.Default("gates[0]." + k.Name) {
			t.Errorf("the first gate of docs/a2a-server.yaml does not set %s", k.Name)
		}
	}
	for section, keys := range map[string][]config.Key{"auth.oidc": config.IssuerKeys(), "auth.socket": config.SocketKeys()} {
		for _, k := range keys {
			if c.Default(section + "[0]." + k.Name) {
				t.Errorf("the first entry of %s in docs/a2a-server.yaml does not set %s", section, k.Name)
			}
		}
	}
	for _, k := range config.RouteKeys() {
		if c.Default("notify[0]."+k.Name) && c.Default("notify[1]."+k.Name) && c.Default("notify[2]."+k.Name) {
			t.Errorf("no route of docs/a2a-server.yaml sets %s", k.Name)
		}
	}
	for _, kind := range config.Kinds() {
		for _, k := range config.ToolKeys(kind) {
			if k.Name != "for" && !slices.ContainsFunc(c.Tools.Entries, func(e config.Tool) bool {
				i := slices.IndexFunc(c.Tools.Entries, func(other config.Tool) bool { return other.Kind == e.Kind && other.Name == e.Name })
				return e.Kind == kind && !c.Default(fmt.Sprintf("tools[%d].%s", i, k.Name))
			}) {
				t.Errorf("no %s of docs/a2a-server.yaml sets %s", kind, k.Name)
			}
		}
	}
	roundTrip(t, c, false)
}

// TestKeys holds what flags and help take from the keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	var flags, variables []string
	for _, k := range config.Keys() {
		flags, variables = append(flags, k.Flag()), append(variables, k.Variable())
		if k.Value == "" || !strings.HasSuffix(k.Meaning, ".") || strings.Contains(k.Meaning, "`") {
			t.Errorf("%s is not described: %+v", k.Name, k)
		}
		if k.Default == "" {
			continue
		}
		// A default can be written as what it is shown to be.
		if _, err := config.Load(config.Source{Environment: []string{k.Variable() + "=" + k.Default}}); err != nil {
			t.Errorf("the default of %s is wrong: %v", k.Name, err)
		}
	}
	for _, names := range [][]string{flags, variables} {
		all := len(names)
		slices.Sort(names)
		if len(slices.Compact(names)) != all {
			t.Errorf("two keys have one name: %v", names)
		}
	}
	for _, want := range []string{"log-level", "limits-tool-timeout", "insecure-no-auth", "A2A_SERVER_LIMITS_TOOL_TIMEOUT", "A2A_SERVER_LISTEN"} {
		if !slices.Contains(flags, want) && !slices.Contains(variables, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestTagsOfApproval compares the words and bounds in the tags of package approval with the package's own.
func TestTagsOfApproval(t *testing.T) {
	t.Parallel()
	gate, who, grants := config.Forms(&approval.Gate{}), config.Forms(&approval.Who{}), config.Forms(&approval.GrantTerms{})
	words := func(all ...string) string {
		return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
	}
	text := func(word any) string { return fmt.Sprint(word) }
	states := words(lists.Map(approval.WaitingStates(), func(w approval.WaitingState) string { return text(w) })...)
	for got, want := range map[string]string{
		gate["waiting_state"]:                           states,
		config.Forms(&config.Config{})["waiting_state"]: states,
		gate["people"]:                                  fmt.Sprintf("a number from 1 to %d", approval.MaxPeople),
		grants["uses"]:                                  fmt.Sprintf("a number from 1 to %d", approval.MaxGrantUses),
		grants["scopes"]:                                "a list, each " + words(lists.Map(approval.GrantScopes(), func(s approval.GrantScope) string { return text(s) })...),
		who["annotations"]:                              "a list, each " + words(tool.Annotations{ReadOnly: true, Idempotent: true, Destructive: true}.Words()...),
	} {
		if got != want {
			t.Errorf("the tag says %q, want %q", got, want)
		}
	}
}
