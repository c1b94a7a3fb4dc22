package config_test

import (
	"slices"
	"strings"
	"testing"

	"a2a-server/internal/app/config"
)

// A key that was removed names its successor, in the file, in a variable and in a flag.
func TestRemovedKeys(t *testing.T) {
	t.Parallel()
	keys := config.Keys()
	for name, instead := range config.Removed() {
		k := config.Key{Name: name}
		if slices.ContainsFunc(keys, func(k config.Key) bool { return k.Name == name }) {
			t.Errorf("%s is a key", name)
		}
		section, last, _ := strings.Cut(name, ".")
		for layer, s := range map[string]config.Source{
			"file":     {File: write(t, section+":\n  "+last+": 5\n")},
			"variable": {Environment: []string{k.Variable() + "=5"}},
			"flag":     {Flags: map[string]string{name: "5"}},
		} {
			all := problems(t, s).Problems
			if len(all) != 1 || all[0].Problem != "was removed: "+instead || all[0].Key != map[string]string{"file": name, "variable": k.Variable(), "flag": "--" + k.Flag()}[layer] {
				t.Errorf("%s in a %s: %v", name, layer, all)
			}
		}
		for word := range strings.FieldsFuncSeq(instead, func(r rune) bool { return r == ' ' || r == ',' || r == ';' }) {
			if strings.Contains(word, ".") && !strings.HasSuffix(word, ".md") && !slices.ContainsFunc(keys, func(k config.Key) bool { return k.Name == word }) {
				t.Errorf("the successor of %s is %s, which is no key", name, word)
			}
		}
	}
}
