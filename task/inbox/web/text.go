package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"a2a-server/internal/visible"
)

// run is a stretch of text shown unchanged, or a hidden character shown by its code.
type run struct{ Text, Code, Name string }

// names are the names of the hidden characters that forged texts use most.
var names = map[rune]string{
	'\n': "line break", '\r': "carriage return", '\t': "tab", 0: "null", 0x1b: "escape", 0x7f: "delete", 0xa0: "no-break space", 0xad: "soft hyphen",
	0x061c: "Arabic letter mark", 0x200b: "zero-width space", 0x200c: "zero-width non-joiner", 0x200d: "zero-width joiner", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark",
	0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding", 0x202c: "pop directional formatting", 0x202d: "left-to-right override", 0x202e: "right-to-left override",
	0x2066: "left-to-right isolate", 0x2067: "right-to-left isolate", 0x2068: "first strong isolate", 0x2069: "pop directional isolate", 0x2028: "line separator", 0x2029: "paragraph separator", 0xfeff: "byte order mark",
}

// runs returns a text on a single line.
func runs(s string) []run { return split(s, "") }

// lines returns a text that may have several lines.
func lines(s string) []run { return split(s, "\n\t") }

func split(s, keep string) []run {
	var out []run
	from := 0
	for i, r := range s {
		if i < from {
			continue
		}
		if n := len(s[i:]) - len(strings.TrimLeft(s[i:], "\n")); n > 6 && keep != "" { // too many to scroll through
			out = append(out, run{Text: s[from:i] + "\n"}, run{Code: thousands(n) + " × U+000A", Name: "line breaks"}, run{Text: "\n"})
			from = i + n
			continue
		}
		bad := false
		if r == utf8.RuneError {
			_, size := utf8.DecodeRuneInString(s[i:])
			bad = size == 1
		}
		if !bad && (!visible.Invisible(r) || strings.ContainsRune(keep, r)) {
			continue
		}
		if i > from {
			out = append(out, run{Text: s[from:i]})
		}
		from = i + utf8.RuneLen(r)
		one := run{Code: fmt.Sprintf("U+%04X", r), Name: names[r]}
		if bad {
			one, from = run{Code: fmt.Sprintf("0x%02X", s[i]), Name: "not UTF-8"}, i+1
		}
		if n := len(out); n > 0 && out[n-1].Code == one.Code && out[n-1].Text == "" && len(out) > 40 { // a long series of a character is counted
			var times int
			_, _ = fmt.Sscanf(out[n-1].Name, "%d times", &times)
			out[n-1].Name = fmt.Sprintf("%d times", max(times, 1)+1)
			continue
		}
		out = append(out, one)
	}
	if from < len(s) {
		out = append(out, run{Text: s[from:]})
	}
	return out
}

// hidden counts the characters of a text that a person would not see, other than line breaks.
func hidden(s string) (n int) {
	for _, r := range s {
		if visible.Invisible(r) && r != '\n' && r != '\t' {
			n++
		}
	}
	return n
}

// shorten cuts a text to n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s[:min(len(s), 4*n+4)]) <= n {
		return s
	}
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end] + "…"
}

// long is a text of any length: all of it, or its head, its tail and its size.
type long struct {
	Head, Tail []run
	Cut        string // description of the omitted middle; "": none
	Whole      string // address of the page with all of it
}

// Of a text that is not shown whole.
const (
	headBytes, headLines = 3000, 40
	tailBytes, tailLines = 600, 8
)

// texts writes the long texts and the times of a page.
type texts struct {
	now   time.Time
	self  string     // address of the page, also where it is the answer to a form
	query url.Values // of that address
}

// textsOf returns the texts of the page that r asks for.
func textsOf(r *http.Request, prefix string, now time.Time) texts {
	path := r.URL.EscapedPath()
	if r.Method == http.MethodPost {
		for _, form := range []string{"/decision", "/extension", "/anew", "/edit"} {
			path = strings.TrimSuffix(path, form)
		}
	}
	return texts{now: now, self: prefix + path, query: r.URL.Query()}
}

// longText returns a text for a page, whole if that is asked for.
func (t *texts) longText(s string) long {
	head, tail := headOf(s), tailOf(s)
	if t.query.Get("whole") == "1" || len(head)+len(tail) >= len(s) {
		return long{Head: lines(s)}
	}
	between := s[len(head) : len(s)-len(tail)]
	query := maps.Clone(t.query)
	query.Set("whole", "1")
	return long{
		Head: lines(head), Tail: lines(tail), Whole: t.self + "?" + query.Encode(),
		Cut: fmt.Sprintf("%s and %s are not shown here", count(strings.Count(between, "\n"), "line"), size(len(between))),
	}
}

func headOf(s string) string {
	end := min(len(s), headBytes)
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end++
	}
	at := 0
	for range headLines {
		next := strings.IndexByte(s[at:end], '\n')
		if next < 0 {
			return s[:end]
		}
		at += next + 1
	}
	return s[:at]
}

func tailOf(s string) string {
	from := max(0, len(s)-tailBytes)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	at := len(s)
	for range tailLines {
		before := strings.LastIndexByte(s[from:at], '\n')
		if before < 0 {
			return s[from:]
		}
		at = from + before
	}
	return s[at:]
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(n), what)
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func size(n int) string {
	if n < 10_000 {
		return count(n, "byte")
	}
	return thousands(n>>10) + " KiB"
}

// stamp is a time as a page shows it: rounded, with the exact time behind.
type stamp struct {
	ISO, Exact, Text, Clock string
	Until                   int64 // ms; 0: the time has passed
}

func exact(t time.Time) stamp {
	t = t.UTC()
	return stamp{ISO: t.Format(time.RFC3339), Exact: t.Format("2006-01-02 15:04:05 UTC"), Clock: t.Format("15:04:05")}
}

// ago returns a time that has passed.
func (t *texts) ago(at time.Time) stamp {
	s := exact(at)
	if d := t.now.Sub(at); d < 2*time.Second {
		s.Text = "just now"
	} else {
		s.Text = coarse(d) + " ago"
	}
	return s
}

// left returns a deadline.
func (t *texts) left(at *time.Time) *stamp {
	if at == nil {
		return nil
	}
	s := exact(*at)
	s.Until, s.Text = at.UnixMilli(), span(at.Sub(t.now))
	return &s
}

// coarse is [span] without seconds after the first minute.
func coarse(d time.Duration) string {
	if d >= time.Minute && d < time.Hour {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return span(d)
}

// span returns a duration in words, as coarse as it is long.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 10*time.Minute:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("1 day %d h", int(d.Hours())%24)
	case d < 240*time.Hour:
		return fmt.Sprintf("%d days %d h", int(d.Hours())/24, int(d.Hours())%24)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}
