package a2a_test

import (
	"bytes"
	"encoding/json"
)

// wireWidth is how long a line of a written answer may be.
const wireWidth = 140

// wireLayout writes JSON for people: what fits into a line stands in one, all else is
// opened, a member or element a line. Nothing is sorted, and every name, string and
// number stays as it came. A long message that has been written before, the same to
// the byte, is not written again.
type wireLayout struct {
	bytes.Buffer
	written map[string]bool // messages, compact
}

// layout returns raw laid out.
func (b *wireLayout) layout(raw []byte) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return "", err
	}
	b.Reset()
	b.value(compact.Bytes(), "" /* indent */, 0 /* column */)
	return b.String(), nil
}

func (b *wireLayout) value(raw []byte, indent string, column int) {
	line := spaced(raw)
	if column+len(line) <= wireWidth || raw[0] != '{' && raw[0] != '[' {
		b.Write(line)
		return
	}
	if id, ok := bytes.CutPrefix(raw, []byte(`{"messageId":"`)); ok {
		if b.written[string(raw)] {
			id, _, _ = bytes.Cut(id, []byte(`"`))
			b.WriteString("{{message " + string(id) + ", as above}}")
			return
		}
		b.written[string(raw)] = true
	}
	b.WriteByte(raw[0])
	inner := indent + "  "
	for i, item := range split(raw[1:len(raw)-1], ',') {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + inner)
		column := len(inner)
		if raw[0] == '{' {
			name := split(item, ':')[0]
			b.Write(name)
			b.WriteString(": ")
			column += len(name) + 2
			item = item[len(name)+1:]
		}
		b.value(item, inner, column)
	}
	b.WriteString("\n" + indent)
	b.WriteByte(raw[len(raw)-1])
}

// walk calls visit with every byte of compact JSON, its depth, and whether it is
// part of a string.
func walk(raw []byte, visit func(i, depth int, quoted bool)) {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			visit(i, depth, true)
			i++
		case c == '"':
			quoted = !quoted
			visit(i, depth, true)
			continue
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		visit(i, depth, quoted)
	}
}

// split cuts the inside of an object or a list at its own separators.
func split(raw []byte, at byte) [][]byte {
	var all [][]byte
	begin := 0
	walk(raw, func(i, depth int, quoted bool) {
		if depth == 0 && !quoted && raw[i] == at {
			all = append(all, raw[begin:i])
			begin = i + 1
		}
	})
	if len(raw) > 0 {
		all = append(all, raw[begin:])
	}
	return all
}

// spaced returns compact JSON with a space after each comma and colon.
func spaced(raw []byte) []byte {
	var out []byte
	walk(raw, func(i, _ int, quoted bool) {
		out = append(out, raw[i])
		if !quoted && (raw[i] == ',' || raw[i] == ':') {
			out = append(out, ' ')
		}
	})
	return out
}
