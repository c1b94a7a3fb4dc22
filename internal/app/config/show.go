package config

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Show writes c as a file that [Load] reads as the same configuration. A comment after each
// value says where it was set. In entries of a list it omits keys with default values.
func Show(w io.Writer, c *Config) error {
	s := shower{origins: c.origins}
	var open []string // the sections that the line before is in
	for _, k := range c.keys() {
		in := strings.Split(k.name, ".")
		in = in[:len(in)-1]
		for i, section := range in {
			if i >= len(open) || open[i] != section {
				fmt.Fprintf(&s.out, "%s%s:\n", strings.Repeat("  ", i), section)
				open = in[:i+1]
			}
		}
		open = in
		if k.unset != "" && c.origins[k.name] == (origin{}) {
			fmt.Fprintf(&s.out, "# %s is not set: %s\n", k.name, k.unset)
			continue
		}
		s.key(k, strings.Repeat("  ", strings.Count(k.name, ".")), k.name)
	}
	_, err := s.out.WriteTo(w)
	return err
}

// shower collects the output of [Show].
type shower struct {
	out     bytes.Buffer
	origins map[string]origin
}

// key writes the key at path.
func (s *shower) key(k key, start, path string) {
	name := k.name[strings.LastIndexByte(k.name, '.')+1:]
	at := s.origins[path]
	if k.entry == nil {
		fmt.Fprintf(&s.out, "%s%s: %s # %s\n", start, name, k.value(), at)
		return
	}
	entries, blank := k.entries()
	if len(entries) == 0 {
		fmt.Fprintf(&s.out, "%s%s: [] # %s\n", start, name, at)
		return
	}
	fmt.Fprintf(&s.out, "%s%s:\n", start, name)
	indent := strings.Repeat(" ", len(start))
	for i, entry := range entries {
		begin := indent + "  - "
		section := ""
		for j, k := range entry {
			if k.entry == nil && slices.Equal(k.texts(), blank[i][j].texts()) {
				continue
			}
			parent, _, nested := strings.Cut(k.name, ".")
			if nested && parent != section {
				fmt.Fprintf(&s.out, "%s%s:\n", begin, parent)
				section, begin = parent, indent+"    "
			}
			if nested {
				begin += "  "
			}
			s.key(k, begin, fmt.Sprintf("%s[%d].%s", path, i, k.name))
			begin = indent + "    "
		}
	}
}

// value returns the value of a key that is no list of mappings, as YAML.
func (k key) value() string {
	texts := k.texts()
	for i, text := range texts {
		switch {
		case k.read == nil:
			texts[i] = quoted(text)
		case text == "null":
			texts[i] = "{}"
		}
	}
	if k.list {
		return "[" + strings.Join(texts, ", ") + "]"
	}
	return strings.Join(texts, ", ")
}

// plain matches text that needs no quotes in YAML. A colon needs none only if something
// follows it directly.
var plain = regexp.MustCompile(`^[A-Za-z0-9./]([A-Za-z0-9._/@+-]|:[A-Za-z0-9._/@+-])*( [A-Za-z0-9._/@+(-][A-Za-z0-9._/@+()-]*)*$`)

// quoted returns text as a YAML scalar, in quotes if necessary.
func quoted(text string) string {
	if plain.MatchString(text) && !slices.Contains([]string{"null", "Null", "NULL"}, text) {
		return text
	}
	return strconv.Quote(text)
}
