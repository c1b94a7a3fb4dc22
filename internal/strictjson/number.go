package strictjson

import (
	"math"
	"slices"
	"strconv"
)

// maxInt is the largest integer n such that no other integer rounds to the double n.
const maxInt = 1<<53 - 1

// Exact reports whether all integers in a value of encoding/json, with numbers as doubles, are those
// of the text: a larger double may stand for another integer.
func Exact(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) <= maxInt
	case []any:
		return !slices.ContainsFunc(v, func(element any) bool { return !Exact(element) })
	case map[string]any:
		for _, member := range v {
			if !Exact(member) {
				return false
			}
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits skips digits and returns how many there were.
func (d *decoder) digits() int {
	start := d.pos
	for d.pos < len(d.raw) && isDigit(d.raw[d.pos]) {
		d.pos++
	}
	return d.pos - start
}

func (d *decoder) at(chars ...byte) bool {
	for _, c := range chars {
		if d.pos < len(d.raw) && d.raw[d.pos] == c {
			return true
		}
	}
	return false
}

func (d *decoder) number() (any, *Error) {
	start := d.pos
	negative := d.at('-')
	if negative {
		d.pos++
	}
	first := d.pos
	if d.digits() == 0 {
		return nil, d.unexpected("a digit")
	}
	if d.raw[first] == '0' && d.pos > first+1 {
		return nil, d.syntax("a number has a leading zero")
	}
	integer := true
	if d.at('.') {
		integer = false
		d.pos++
		if d.digits() == 0 {
			return nil, d.unexpected("a digit")
		}
	}
	if d.at('e', 'E') {
		integer = false
		d.pos++
		if d.at('+', '-') {
			d.pos++
		}
		if d.digits() == 0 {
			return nil, d.unexpected("a digit")
		}
	}
	if d.any {
		return nil, nil
	}
	var f float64
	var err *Error
	if integer {
		f, err = integerOf(d.raw[first:d.pos], negative)
	} else {
		f, err = doubleOf(d.raw[start:d.pos])
	}
	if err != nil || d.check {
		return nil, err
	}
	return f, nil
}

// doubleOf returns the value of a number with valid grammar.
func doubleOf(text []byte) (float64, *Error) {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, &Error{Reason: "this number does not fit into a double"}
	}
	return f, nil
}

// integerOf returns the value of digits, which have no leading zero.
func integerOf(digits []byte, negative bool) (float64, *Error) {
	const longest = 16 // digits of maxInt
	n := int64(0)
	if len(digits) <= longest {
		for _, c := range digits {
			n = n*10 + int64(c-'0')
		}
	}
	if len(digits) > longest || n > maxInt {
		return 0, &Error{Reason: "this integer is beyond ±9007199254740991, where doubles are not exact; send it as a string"}
	}
	f := float64(n)
	if negative {
		f = math.Copysign(f, -1) // -0 too, as encoding/json
	}
	return f, nil
}
