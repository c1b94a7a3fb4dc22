package searchtool

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// html adds the text of a page: what a browser shows, and the title. It reads tokens, without a
// tree of them, so that nesting costs nothing.
func (s *splitter) html(content []byte) {
	z := html.NewTokenizer(bytes.NewReader(content))
	number := 1              // of the line at which the token begins
	var line strings.Builder // of text
	at := 0                  // the number of line
	var heading strings.Builder
	var hidden, titled atom.Atom // the element that hides its text, or is a heading; 0: none
	end := func() {
		if line.Len() > 0 {
			s.add(at, line.String())
			line.Reset()
		}
	}
	for {
		kind := z.Next()
		begins := number
		number += bytes.Count(z.Raw(), []byte("\n"))
		switch kind {
		case html.ErrorToken: // the end: the content is in memory
			end()
			return
		case html.TextToken:
			if hidden != 0 {
				continue
			}
			text := string(z.Text())
			if titled != 0 && heading.Len() <= headingSize {
				heading.WriteString(text)
			}
			for i, part := range strings.Split(text, "\n") {
				if i > 0 && line.Len() > passageSize/4 {
					end() // so that the number is not far from the text
				}
				if part = strings.Join(strings.Fields(part), " "); part == "" {
					continue
				}
				if line.Len() == 0 {
					at = begins + i
				} else {
					line.WriteByte(' ')
				}
				line.WriteString(part)
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			switch {
			case hidden != 0:
				if kind == html.EndTagToken && tag == hidden {
					hidden = 0
				}
				continue
			case kind == html.StartTagToken && hides(tag):
				hidden = tag
			case kind == html.StartTagToken && isHeading(tag):
				end()
				heading.Reset()
				titled = tag
			case kind == html.EndTagToken && titled != 0 && tag == titled:
				s.begin(heading.String())
				titled = 0
			}
			if !inline(tag) {
				end()
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

func hides(tag atom.Atom) bool {
	return slices.Contains([]atom.Atom{atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Iframe, atom.Object}, tag)
}

func isHeading(tag atom.Atom) bool {
	return slices.Contains([]atom.Atom{atom.Title, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}, tag)
}

// inline reports whether an element is part of the line around it.
func inline(tag atom.Atom) bool {
	return slices.Contains([]atom.Atom{
		atom.A, atom.Abbr, atom.B, atom.Code, atom.Em, atom.I, atom.Kbd, atom.Mark, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.U, atom.Var,
	}, tag)
}
