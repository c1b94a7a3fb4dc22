package dialect

import "regexp"

// active matches what makes a link, an image or an element where a client renders text as
// Markdown: the end of a link's text before its target, and the beginning of a tag.
var active = regexp.MustCompile(`\]([(\[:])|<([A-Za-z/!?])`)

// inert returns a question as text for clients that may render it as Markdown: what tools and
// callers have written in it loads no image, makes no link and no element. Such a bracket is
// escaped as in JSON, so that JSON in the text stays what it is. The server's own words have
// none.
func inert(text string) string {
	return active.ReplaceAllStringFunc(text, func(s string) string {
		if s[0] == '<' {
			return `\u003c` + s[1:]
		}
		return `\u005d` + s[1:]
	})
}
