package config

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"a2a-server/approval"
)

// Show writes c as a file that [Load] reads as the same configuration, with a comment
// after each value that says where it was given. Of a gate it writes what is not as
// in an empty one.
func Show(w io.Writer, c *Config) error {
	out := &bytes.Buffer{}
	section := ""
	for _, k := range configKeys() {
		parent, name, nested := strings.Cut(k.name, ".")
		if !nested {
			parent, name = "", k.name
		}
		if parent != section {
			section = parent
			if parent != "" {
				fmt.Fprintf(out, "%s:\n", parent)
			}
		}
		indent := ""
		if nested {
			indent = "  "
		}
		showValue(out, indent, name, k.list, k.texts(c), c.origins[k.name])
	}
	showGates(out, c)
	_, err := out.WriteTo(w)
	return err
}

func showGates(out *bytes.Buffer, c *Config) {
	if len(c.Gates) == 0 {
		fmt.Fprintf(out, "%s: [] # %s\n", gatesKey, c.origins[gatesKey])
		return
	}
	fmt.Fprintf(out, "%s:\n", gatesKey)
	empty := &approval.Gate{}
	for i := range c.Gates {
		dash := "  - "
		for _, k := range gateKeys() {
			texts := k.texts(&c.Gates[i])
			if slices.Equal(texts, k.texts(empty)) {
				continue
			}
			showValue(out, dash, k.name, k.list, texts, c.origins[fmt.Sprintf("%s[%d].%s", gatesKey, i, k.name)])
			dash = "    "
		}
	}
}

func showValue(out *bytes.Buffer, indent, name string, list bool, texts []string, at origin) {
	scalars := make([]string, len(texts))
	for i, text := range texts {
		scalars[i] = scalar(text)
	}
	value := strings.Join(scalars, ", ")
	if list {
		value = "[" + value + "]"
	}
	fmt.Fprintf(out, "%s%s: %s # %s\n", indent, name, value, at)
}

// plain is what YAML reads as it stands, wherever a value can be. A colon is good
// only before something that continues.
var plain = regexp.MustCompile(`^[A-Za-z0-9./]([A-Za-z0-9._/@+-]|:[A-Za-z0-9._/@+-])*( [A-Za-z0-9._/@+(-][A-Za-z0-9._/@+()-]*)*$`)

// scalar returns text as YAML.
func scalar(text string) string {
	if plain.MatchString(text) && !slices.Contains([]string{"null", "Null", "NULL"}, text) {
		return text
	}
	return strconv.Quote(text)
}
