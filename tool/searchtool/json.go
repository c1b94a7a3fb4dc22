package searchtool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// shownNames bounds the names in front of a value, and with them the text that deep nesting makes.
const shownNames = 4

// maxNesting bounds how deep values are nested; deeper documents are plain text.
const maxNesting = 10_000

// level is an object or a list that is being read.
type level struct {
	list  bool
	named bool   // the next token is a value
	name  string // of that value
}

// json adds each value of JSON documents as a line with the names that lead to it. It reports
// whether the content is JSON.
func (s *splitter) json(content []byte) bool {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	var open []level
	number, counted := 1, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return len(open) == 0
		}
		if err != nil {
			return false
		}
		offset := int(d.InputOffset())
		number += bytes.Count(content[counted:offset], []byte("\n"))
		counted = offset
		top := len(open) - 1
		if delim, is := token.(json.Delim); is {
			if delim == '{' || delim == '[' {
				if len(open) == maxNesting {
					return false
				}
				open = append(open, level{list: delim == '['})
				continue
			}
			if open = open[:top]; top > 0 {
				open[top-1].named = false
			}
			continue
		}
		if name, is := token.(string); is && top >= 0 && !open[top].list && !open[top].named {
			open[top].name, open[top].named = name[:min(len(name), headingSize)], true
			continue
		}
		text := fmt.Sprint(token)
		if token == nil {
			text = "null"
		}
		if name := nameOf(open); name != "" {
			text = name + ": " + text
		}
		for _, line := range strings.Split(strings.ToValidUTF8(text, ""), "\n") {
			s.add(number, line)
		}
		if top >= 0 {
			open[top].named = false
		}
	}
}

// nameOf returns the innermost names of a value, with dots between.
func nameOf(open []level) string {
	var names []string
	for i := len(open) - 1; i >= 0 && i >= len(open)-2*shownNames && len(names) < shownNames; i-- {
		if !open[i].list {
			names = append([]string{open[i].name}, names...)
		}
	}
	return strings.Join(names, ".")
}
