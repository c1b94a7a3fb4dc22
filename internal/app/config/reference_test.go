package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"a2a-server/internal/app/config"
)

func docs(name string) string { return filepath.Join("..", "..", "..", "docs", name) }

// TestReference holds the tables of docs/configuration.md to the keys.
func TestReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(docs("configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for name, keys := range map[string][]config.Key{"keys": config.Keys(), "gates": config.GateKeys()} {
		got = fill(t, got, name, table(keys))
	}
	golden(t, docs("configuration.md"), got)
}

// fill replaces what stands between the two marks of a table.
func fill(t *testing.T, text, name, rows string) string {
	t.Helper()
	begin := fmt.Sprintf("<!-- %s: written by the tests of internal/app/config with -update -->\n", name)
	before, rest, ok := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !ok || !ended {
		t.Fatalf("docs/configuration.md has lost the marks of the table of %s", name)
	}
	return before + begin + rows + "<!-- end -->" + after
}

func table(keys []config.Key) string {
	var b strings.Builder
	b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, k := range keys {
		fallback := ""
		if k.Default != "" {
			fallback = "`" + k.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, k.Value, fallback, strings.ReplaceAll(k.Meaning, "*", `\*`))
	}
	return b.String()
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
	roundTrip(t, c)
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
