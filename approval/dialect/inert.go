package dialect

import "regexp"

// active matches the beginnings of a link, an image or an element in text that a client
// renders as Markdown: the end of a link's text before its target, and the beginning of a tag.
var active = regexp.MustCompile(`\]([(\[:])|<([A-Za-z/!?])`)

// inert returns a question as text for clients that may render it as Markdown: text of tools
// and callers in it loads no image, and makes no link or element. Such a bracket is escaped as
// in JSON, so that JSON in the text keeps its value. The server's own words have none.
func inert(text string) string {
	return active.ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == '<' {
			return `\u003c` + s[1:]
		}
		return `\u005d` + s[1:]
	})
}
