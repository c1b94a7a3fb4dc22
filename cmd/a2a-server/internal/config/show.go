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
	s.keys(keysOf(c), "", "", "")
	_, err := s.out.WriteTo(w)
	return err
}

// shower collects the output of [Show].
type shower struct {
	out     bytes.Buffer
	origins map[string]origin
}

// keys writes the keys of the mapping at path, which ends with a dot. Its first line starts with
// begin, and each other with indent.
func (s *shower) keys(all []key, begin, indent, path string) {
	var open []string // the sections that the line before is in
	for _, k := range all {
		names := strings.Split(k.name, ".")
		in, name := names[:len(names)-1], names[len(names)-1]
		for i, section := range in {
			if i >= len(open) || open[i] != section {
				fmt.Fprintf(&s.out, "%s%s%s:\n", begin, strings.Repeat("  ", i), section)
				begin, open = indent, in[:i+1]
			}
		}
		open = in
		at := s.origins[path+k.name]
		start := begin + strings.Repeat("  ", len(in))
		switch {
		case k.tagged("unset") && at == (origin{}):
			fmt.Fprintf(&s.out, "# %s is not set: %s\n", k.name, k.tag.Get("unset"))
		case !k.isEntries():
			fmt.Fprintf(&s.out, "%s%s: %s # %s\n", start, name, k.value(), at)
		default:
			s.entries(k, start+name, strings.Repeat(" ", len(start)), path+k.name)
		}
		begin = indent
	}
}

// entries writes the list of mappings at path, without keys that have their default.
func (s *shower) entries(k key, start, indent, path string) {
	entries, blank := k.entries()
	if len(entries) == 0 {
		fmt.Fprintf(&s.out, "%s: [] # %s\n", start, s.origins[path])
		return
	}
	s.out.WriteString(start + ":\n")
	for i, entry := range entries {
		var set []key
		for j, k := range entry {
			if k.isEntries() || !slices.Equal(k.texts(), blank[i][j].texts()) {
				set = append(set, k)
			}
		}
		s.keys(set, indent+"  - ", indent+"    ", fmt.Sprintf("%s[%d].", path, i))
	}
}

// value returns the value of a key that is no list of mappings, as YAML.
func (k key) value() string {
	texts := k.texts()
	for i, text := range texts {
		switch {
		case !k.isShape():
			texts[i] = quoted(text)
		case text == "null":
			texts[i] = "{}"
		}
	}
	if k.isList() && (k.gate() == nil || len(texts) != 1) {
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
