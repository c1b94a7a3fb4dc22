package searchtool

import (
	"bytes"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	passageSize = 1 << 10 // bytes of a passage, apart from its last line
	lineSize    = 1 << 10 // bytes of a line; a longer line becomes several with the same number
	headingSize = 200
)

// passage is a part of a document.
type passage struct {
	heading string // above it; "": none
	text    string // lines, without a line break at the end
	lines   []int  // the number of each line in the document, from 1
}

// passages splits a document. The format follows from the extension of its path. ok is false if
// the content is no text.
func passages(name string, content []byte) (all []passage, ok bool) {
	if bytes.IndexByte(content, 0) >= 0 {
		return nil, false
	}
	if !utf8.Valid(content) {
		before := len(content)
		content = bytes.ToValidUTF8(content, nil)
		if before-len(content) > before/20 {
			return nil, false // not UTF-8
		}
	}
	var s splitter
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml":
		s.html(content)
	case ".json", ".jsonl", ".ndjson":
		if !s.json(content) {
			s = splitter{}
			s.plain(content)
		}
	case ".md", ".markdown":
		s.markdown(content)
	default:
		s.plain(content)
	}
	s.flush()
	return s.all, true
}

// splitter collects lines into passages.
type splitter struct {
	all     []passage
	heading string
	text    strings.Builder
	lines   []int
	blank   bool // the newest line
	size    int  // bytes of all lines
}

// add adds a line. A passage ends at a blank line, if it is long enough.
func (s *splitter) add(number int, line string) {
	line = strings.TrimRightFunc(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, line), unicode.IsSpace)
	if line == "" {
		if s.text.Len() >= passageSize/2 {
			s.flush()
		}
		if len(s.lines) > 0 && !s.blank {
			s.append(number, "")
		}
		return
	}
	for line != "" {
		piece := strings.ToValidUTF8(line[:min(len(line), lineSize)], "") // without a part of a character
		if s.text.Len() > 0 && s.text.Len()+len(piece) > passageSize {
			s.flush()
		}
		s.append(number, piece)
		line = line[len(piece):]
	}
}

func (s *splitter) append(number int, line string) {
	if len(s.lines) > 0 {
		s.text.WriteByte('\n')
	}
	s.text.WriteString(line)
	s.lines = append(s.lines, number)
	s.size += len(line) + 1
	s.blank = line == ""
}

// flush ends the passage.
func (s *splitter) flush() {
	if text := strings.TrimRight(s.text.String(), "\n"); text != "" {
		s.all = append(s.all, passage{heading: s.heading, text: text, lines: s.lines[:strings.Count(text, "\n")+1]})
	}
	s.text.Reset()
	s.lines, s.blank = nil, false
}

// smallest is how many bytes passages have on average at least: a document of headings does not
// make a passage of each.
const smallest = 128

// begin begins a section.
func (s *splitter) begin(heading string) {
	if s.size >= smallest*len(s.all) {
		s.flush()
	}
	heading = strings.Join(strings.Fields(heading), " ")
	s.heading = strings.ToValidUTF8(heading[:min(len(heading), headingSize)], "")
}

func (s *splitter) plain(content []byte) {
	number := 0
	for line := range bytes.Lines(content) {
		number++
		s.add(number, string(line))
	}
}

// markdown begins a section at each heading outside of code.
func (s *splitter) markdown(content []byte) {
	number, fence := 0, ""
	for raw := range bytes.Lines(content) {
		number++
		line := string(raw)
		text := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(text, fence) {
				fence = ""
			}
		case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
			fence = text[:3]
		default:
			if title := strings.TrimLeft(text, "#"); len(title) < len(text) && len(text)-len(title) <= 6 && (title == "" || title[0] == ' ') {
				s.begin(title)
			}
		}
		s.add(number, line)
	}
}
