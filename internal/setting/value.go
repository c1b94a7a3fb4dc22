// Package setting has the types of values that people write as text in files, environment
// variables and flags: their syntax, their bounds, and the errors for invalid text. A value is
// bound to a Go variable, as in package flag, and is an [encoding.TextUnmarshaler]. The
// package does not know the settings.
package setting

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"a2a-server/internal/lists"
)

// Value is a variable that is written as a string. A rejected text leaves it unchanged.
type Value interface {
	encoding.TextUnmarshaler // the error has the fault of the text, and the next step
	fmt.Stringer             // the text that sets the variable to its current value
	Form() string            // the syntax, for the reference: "true or false"
}

// variable is a value of any type.
type variable[T any] struct {
	to    *T
	how   string // its Form
	parse func(text string) (T, error)
	write func(T) string
}

func (v variable[T]) UnmarshalText(text []byte) error {
	parsed, err := v.parse(string(text))
	if err == nil {
		*v.to = parsed
	}
	return err
}

func (v variable[T]) String() string { return v.write(*v.to) }
func (v variable[T]) Form() string   { return v.how }

// either returns a bool that is written as yes or no, which are any two words.
func either(to *bool, yes, no string) Value {
	return variable[bool]{to, yes + " or " + no, func(text string) (bool, error) {
		value := strings.EqualFold(text, yes)
		if !value && !strings.EqualFold(text, no) {
			return false, fmt.Errorf("%s is neither %s nor %s; write one of the two", quote(text), yes, no)
		}
		return value, nil
	}, func(value bool) string { return map[bool]string{true: yes, false: no}[value] }}
}

// Choice returns a value out of a few words. what is a noun for them, with its article.
func Choice[T ~string](to *T, what string, words ...T) Value {
	texts := lists.Map(words, func(w T) string { return string(w) })
	last := len(texts) - 1
	all := strings.Join(texts[:last], ", ") + " or " + texts[last]
	return variable[T]{to, all, func(text string) (T, error) {
		if !slices.Contains(words, T(text)) {
			return "", fmt.Errorf("%s is not %s; use %s", quote(text), what, all)
		}
		return T(text), nil
	}, func(w T) string { return string(w) }}
}

// number is a count, size or duration from least to most, or another value. parse returns [strconv.ErrRange] for
// numbers too large for an int64. little is the word for a number that is too small.
func number[T ~int | ~int64](to *T, how string, least, most, other T, little string, parse func(string) (int64, error), write func(int64) string) variable[T] {
	return variable[T]{to, how, func(text string) (T, error) {
		n, err := parse(text)
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && n > int64(most):
			return 0, fmt.Errorf("%s is too large; at most %s is allowed", clip(text), write(int64(most)))
		case err == nil && n < int64(least) && n != int64(other):
			return 0, fmt.Errorf("%s is too %s; at least %s is required", clip(text), little, write(int64(least)))
		}
		return T(n), err
	}, func(n T) string { return write(int64(n)) }}
}

// unlimited is the upper bound of counts that have no other.
const unlimited = math.MaxInt32

// Count returns a value that is a whole number from least to most.
func Count(to *int, least, most int) Value {
	how := fmt.Sprintf("a number from %d", least)
	if most != unlimited {
		how += fmt.Sprintf(" to %d", most)
	}
	return number(to, how, least, most, least, "small", func(text string) (int64, error) {
		n, err := digits(text)
		if errors.Is(err, strconv.ErrSyntax) {
			err = fmt.Errorf("%s is not a whole number; write one such as %d", quote(text), max(least, 64))
		}
		return n, err
	}, func(n int64) string { return strconv.FormatInt(n, 10) })
}

// digits parses a decimal number. It refuses 010, which is eight in YAML 1.1 and ten in YAML
// 1.2.
func digits(text string) (int64, error) {
	plain := strings.TrimPrefix(text, "-")
	if plain == "" || strings.Trim(plain, "0123456789") != "" || len(plain) > 1 && plain[0] == '0' {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if n < 0 {
		err = nil // too small, even if it does not fit into an int64
	}
	return n, err
}

var units = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// size returns a value that is a number of bytes from least to most, or also 0 if none is
// true.
func size(to *int64, least, most int64, none bool) Value {
	how, other := fmt.Sprintf("a size from %s to %s", writeSize(least), writeSize(most)), least
	if none {
		how, other = how+", or 0", 0
	}
	return number(to, how, least, most, other, "small", func(text string) (int64, error) {
		number, scale := text, int64(1)
		for _, u := range units {
			if before, ok := strings.CutSuffix(text, u.suffix); ok {
				number, scale = strings.TrimRight(before, " "), u.bytes
			}
		}
		n, err := digits(number)
		switch {
		case errors.Is(err, strconv.ErrSyntax):
			return 0, fmt.Errorf("%s is not a size; write bytes, or KiB, MiB or GiB such as 4MiB", quote(text))
		case n > math.MaxInt64/scale:
			return 0, strconv.ErrRange
		case n < 0:
			return n, nil // too small, whatever its unit
		}
		return n * scale, err
	}, writeSize)
}

func writeSize(n int64) string {
	for _, u := range units {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

// Duration returns a value that is a duration of at least least.
func Duration(to *time.Duration, least time.Duration) Value { return duration(to, least) }

func duration(to *time.Duration, least time.Duration) variable[time.Duration] {
	return number(to, "a duration", least, math.MaxInt64, least, "short", func(text string) (int64, error) {
		d, err := time.ParseDuration(text)
		if _, number := digits(text); err != nil && number == nil {
			return 0, fmt.Errorf("%s has no unit; write %[1]ss for seconds, or use ms, m or h", clip(text))
		}
		if err != nil {
			return 0, fmt.Errorf("%s is not a duration; use h, m, s and ms, such as 1h30m or 10s", quote(text))
		}
		return int64(d), nil
	}, func(n int64) string { // 5m where Go writes 5m0s
		text := time.Duration(n).String()
		for _, zero := range []string{"0s", "0m"} {
			if shorter, ok := strings.CutSuffix(text, zero); ok && strings.ContainsAny(shorter[max(len(shorter)-1, 0):], "hm") {
				text = shorter
			}
		}
		return text
	})
}

// deadline returns a value that is a duration of at least 1 ms, or the word never, which
// sets the variable to the value of never.
func deadline(to *time.Duration, never time.Duration) Value {
	v := duration(to, time.Millisecond)
	parse, write := v.parse, v.write
	v.how = "never, or a duration"
	v.parse = func(text string) (time.Duration, error) {
		if text == "never" {
			return never, nil
		}
		after, err := parse(text)
		if err != nil {
			err = fmt.Errorf("%w; or never", err)
		}
		return after, err
	}
	v.write = func(after time.Duration) string {
		if after == never {
			return "never"
		}
		return write(after)
	}
	return v
}
