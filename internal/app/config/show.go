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

// Show writes c as a file that [Load] reads as the same configuration, with a comment
// after each value that says where it was given. Of an entry of a list it writes what is
// not as in an empty one.
func Show(w io.Writer, c *Config) error {
	s := shower{origins: c.origins}
	section := ""
	for _, k := range c.keys() {
		parent, _, nested := strings.Cut(k.name, ".")
		if nested && parent != section {
			fmt.Fprintf(&s.out, "%s:\n", parent)
			section = parent
		}
		s.key(k, strings.Repeat("  ", strings.Count(k.name, ".")), k.name)
	}
	_, err := s.out.WriteTo(w)
	return err
}

// shower collects what is shown.
type shower struct {
	out     bytes.Buffer
	origins map[string]origin
}

// key writes a key, whose path from the root that is.
func (s *shower) key(k key, start, path string) {
	name := k.name[strings.LastIndexByte(k.name, '.')+1:]
	at := s.origins[path]
	if k.entry == nil {
		texts := k.texts()
		for i, text := range texts {
			texts[i] = quoted(text)
		}
		value := strings.Join(texts, ", ")
		if k.list {
			value = "[" + value + "]"
		}
		fmt.Fprintf(&s.out, "%s%s: %s # %s\n", start, name, value, at)
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
		for j, k := range entry {
			if k.entry != nil || !slices.Equal(k.texts(), blank[j].texts()) {
				s.key(k, begin, fmt.Sprintf("%s[%d].%s", path, i, k.name))
				begin = indent + "    "
			}
		}
	}
}

// plain is what YAML reads as it stands, wherever a value can be. A colon is good
// only before something that continues.
var plain = regexp.MustCompile(`^[A-Za-z0-9./]([A-Za-z0-9._/@+-]|:[A-Za-z0-9._/@+-])*( [A-Za-z0-9._/@+(-][A-Za-z0-9._/@+()-]*)*$`)

// quoted returns text as YAML.
func quoted(text string) string {
	if plain.MatchString(text) && !slices.Contains([]string{"null", "Null", "NULL"}, text) {
		return text
	}
	return strconv.Quote(text)
}
