package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"a2a-server/internal/strictjson"
)

// leaf is a row of a JSON value: a member or an element, with its type.
type leaf struct {
	Depth int // at most 6
	Path  string
	Name  []run
	Type  string
	Value []run
	Dim   bool // Value is a size
	// Size and End are the length and the end of a long string, for a reader who does not
	// scroll.
	Size string
	End  []run
	raw  string
}

// tallLines and tallBytes are how much of a string is shown without scrolling.
const tallLines, tallBytes = 24, 2400

// tree returns the rows of a JSON value, all of them.
func tree(raw json.RawMessage) []leaf {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out []leaf
	if err := walk(d, &out, "", "", 0); err != nil {
		return []leaf{{Type: "not JSON", Value: lines(string(raw)), raw: string(raw)}}
	}
	if len(out) > 0 && out[0].Dim {
		return out[1:] // the object itself is the table
	}
	return out
}

func walk(d *json.Decoder, out *[]leaf, path, name string, depth int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	row := leaf{Depth: min(max(depth-1, 0), 6), Path: path, Name: runs(name)}
	delim, nested := t.(json.Delim)
	if !nested {
		row.scalar(t)
		*out = append(*out, row)
		return nil
	}
	at, n := len(*out), 0
	*out = append(*out, row)
	for ; d.More(); n++ {
		key := fmt.Sprint(n)
		if delim == '{' {
			k, err := d.Token()
			if err != nil {
				return err
			}
			key, _ = k.(string)
		}
		if err := walk(d, out, path+"/"+strictjson.EscapePointer(key), key, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	own := &(*out)[at]
	own.Dim = true
	own.Type, own.Value = "object", runs(count(n, "member"))
	if delim == '[' {
		own.Type, own.Value = "array", runs(count(n, "item"))
	}
	own.raw = own.Type
	return nil
}

func (l *leaf) scalar(t json.Token) {
	switch value := t.(type) {
	case string:
		n := utf8.RuneCountInString(value)
		l.Type, l.raw = fmt.Sprintf("string, %s", thousands(n)), quote(value)
		if breaks := strings.Count(value, "\n"); breaks > tallLines || len(value) > tallBytes {
			l.Value, l.Size = lines(value), count(breaks+1, "line")+", "+count(n, "character")
			l.End = lines(strings.TrimLeft(tailOf(value), "\n"))
			return
		}
		l.Value = lines(`"` + value + `"`)
	case json.Number:
		l.Type, l.raw = "number", value.String()
	case bool:
		l.Type, l.raw = "boolean", fmt.Sprint(value)
	default:
		l.Type, l.raw = "null", "null"
	}
	if l.Value == nil {
		l.Value = runs(l.raw)
	}
}

func quote(s string) string {
	raw, _ := strictjson.Plain(s) // a string always can be
	return string(raw)
}

// about says how much there is in a JSON value, and how much of it a person would not see.
func about(raw json.RawMessage) (text string, hiddenCount int) {
	for _, l := range tree(raw) {
		for _, r := range append(l.Name, l.Value...) {
			if r.Code != "" && !strings.HasSuffix(r.Code, "U+000A") && r.Code != "U+0009" {
				hiddenCount++
			}
		}
	}
	return fmt.Sprintf("%s, shown whole", size(len(raw))), hiddenCount
}

// indented returns JSON for reading and editing.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// change is a line of a difference.
type change struct {
	Sign string // "-" or "+"
	Path []run
	Text []run
}

// diff returns how arguments differ, by member.
func diff(before, after json.RawMessage) []change {
	old, now := tree(before), tree(after)
	was, is := map[string]string{}, map[string]string{}
	for _, l := range old {
		was[l.Path] = l.raw
	}
	for _, l := range now {
		is[l.Path] = l.raw
	}
	var out []change
	line := func(sign string, l *leaf) {
		out = append(out, change{sign, runs(strings.TrimPrefix(l.Path, "/")), lines(l.raw)})
	}
	for i := range old {
		l := &old[i]
		value, there := is[l.Path]
		if there && value == l.raw {
			continue
		}
		line("-", l)
		if there {
			with := *l
			with.raw = value
			line("+", &with)
		}
	}
	for i := range now {
		if _, there := was[now[i].Path]; !there {
			line("+", &now[i])
		}
	}
	return out
}
