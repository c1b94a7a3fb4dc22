package visible_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"a2a-server/internal/visible"
)

func TestInvisible(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want bool
		all  []rune
	}{
		{"controls", true, []rune{0, '\t', '\n', '\r', 0x1B, 0x7F, 0x85, 0x9B}},
		{"formats", true, []rune{0xAD, 0x061C, 0x180E, 0x200B, 0x200D, 0x200E, 0x202E, 0x2060, 0x2066, 0xFEFF, 0xFFF9, 0xE0001, 0xE0041}},
		{"separators", true, []rune{0x2028, 0x2029}},
		{"spaces but one", true, []rune{0xA0, 0x1680, 0x2003, 0x202F, 0x205F, 0x3000}},
		{"private use", true, []rune{0xE000, 0xF8FF, 0xF0000, 0x10FFFD}},
		{"surrogates and noncharacters", true, []rune{0xD800, 0xDFFF, 0xFDD0, 0xFFFE, 0xFFFF, 0x10FFFF}},
		{"unassigned", true, []rune{0x0378, 0x2FE0, 0x1FFFD, 0xE01F0, 0xE0FFF}},
		{"variation selectors", true, []rune{0x180B, 0x180C, 0x180D, 0x180F, 0xFE00, 0xFE0E, 0xFE0F, 0xE0100, 0xE01EF}},
		{"ignorable by default", true, []rune{0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0, 0xFFF0}},
		{"blank", true, []rune{0x2800, 0xFFFC, 0x16FE4, 0x13441, 0x13442, 0x1D159}},
		{"beyond Unicode", true, []rune{-1, 0x110000}},
		{"seen", false, []rune{' ', '!', '~', 'a', 'é', 'ß', 'я', 'ע', 'ع', '漢', '한', 0x0301, 0x20AC, 0x1F44D, 0xFFFD}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range tt.all {
				if got := visible.Invisible(r); got != tt.want {
					t.Errorf("Invisible(%U) = %v, want %v", r, got, tt.want)
				}
			}
		})
	}
}

// Every code point that some table calls invisible is; so a mistake in how the tables
// are combined shows, whichever of them a code point is in.
func TestInvisibleCoversTheTables(t *testing.T) {
	t.Parallel()
	tables := []*unicode.RangeTable{
		unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co, unicode.Cn, unicode.Zl, unicode.Zp, unicode.White_Space,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point,
		unicode.Bidi_Control, unicode.Join_Control,
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r != ' ' && !visible.Invisible(r) && unicode.In(r, tables...) {
			t.Errorf("%U counts as visible", r)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, line, text string }{
		{"", "", ""},
		{"as it is: é 漢 👍", "as it is: é 漢 👍", "as it is: é 漢 👍"},
		{"a\nb\tc", `a\u000ab\u0009c`, "a\nb\tc"},
		{"\x1b[2J\r", `\u001b[2J\u000d`, `\u001b[2J\u000d`},
		{"\u0085\u2028\u2029", `\u0085\u2028\u2029`, `\u0085\u2028\u2029`},
		{"\u202eevil\u2066", `\u202eevil\u2066`, `\u202eevil\u2066`},
		{"❤\ufe0f", `❤\ufe0f`, `❤\ufe0f`},
		{"\U000e0041\U000e0100", `\udb40\udc41\udb40\udd00`, `\udb40\udc41\udb40\udd00`},
		{"a\u00a0b\u3000c", `a\u00a0b\u3000c`, `a\u00a0b\u3000c`},
		{"\xff\xfe", "\ufffd\ufffd", "\ufffd\ufffd"},
	}
	for _, tt := range tests {
		if got := visible.Line(tt.in); got != tt.line {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.line)
		}
		if got := visible.Text(tt.in); got != tt.text {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.text)
		}
	}
}

// What is shown has nothing invisible in it, and stands for the very character: in a
// string of JSON it means what it was made from.
func TestEscapeOfEveryCodePoint(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && r != '"' && r != '\\' {
			all.WriteRune(r)
		}
	}
	shown := visible.Line(all.String())
	if i := strings.IndexFunc(shown, visible.Invisible); i >= 0 {
		t.Errorf("at %d something is invisible: %q", i, shown[max(i-20, 0):i+4])
	}
	var back string
	if err := json.Unmarshal([]byte(`"`+shown+`"`), &back); err != nil || back != all.String() {
		t.Errorf("what is shown means something else in JSON, %v", err)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc… (4 characters)"},
		{"ééé", 3, "ééé"},
		{"éééé", 3, "ééé… (4 characters)"},
		{"abc", 0, "… (3 characters)"},
	}
	for _, tt := range tests {
		if got := visible.Shorten(tt.in, tt.limit); got != tt.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func BenchmarkLine(b *testing.B) {
	text := strings.Repeat("plain text, and some é 漢 ", 40)
	b.ReportAllocs()
	for b.Loop() {
		visible.Line(text)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4<<20)
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc… (4 bytes)"},
		{"ééé", 3, "ééé"},
		{"éééé", 3, "ééé… (8 bytes)"},
		{"\u202e", 6, `\u202e`},
		{"a\u202e", 6, `a… (4 bytes)`},
		{"a\nb", 100, `a\u000ab`},
		{"\xff\xfe", 1, "\ufffd… (2 bytes)"},
		{long, 4, "xxxx… (4194304 bytes)"},
	}
	for _, tt := range tests {
		if got := visible.Clip(tt.in, tt.limit); got != tt.want {
			t.Errorf("Clip(%.20q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

// The cost of a text from outside is that of what is shown of it.
func TestClipLooksAtTheBeginning(t *testing.T) {
	hostile := strings.Repeat("\u202e", 1<<20)
	if allocs := testing.AllocsPerRun(10, func() { visible.Clip(hostile, 60) }); allocs > 50 {
		t.Errorf("Clip of %d bytes to 60 characters allocates %v times", len(hostile), allocs)
	}
}
