package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// form is how the values of one type are written as text.
type form[T any] struct {
	value string // for the reference: "true or false"
	parse func(text string) (T, error)
	write func(T) string // what parse reads as the same value
}

// wrong returns what is wrong with a value, in the words of a [Problem].
func wrong(format string, args ...any) error { return fmt.Errorf(format, args...) }

func boolean() form[bool] { return either("true", "false") }

// either is a bool with words of its own.
func either(yes, no string) form[bool] {
	return form[bool]{
		value: yes + " or " + no,
		parse: func(text string) (bool, error) {
			if !strings.EqualFold(text, yes) && !strings.EqualFold(text, no) {
				return false, wrong("%s is neither %s nor %s; write one of the two", quote(text), yes, no)
			}
			return strings.EqualFold(text, yes), nil
		},
		write: func(b bool) string {
			if b {
				return yes
			}
			return no
		},
	}
}

// choice is one of a few words; what is the noun for them, with its article.
func choice[T ~string](what string, words ...T) form[T] {
	last := len(words) - 1
	var all strings.Builder
	for i, w := range words {
		switch {
		case i == last && i > 0:
			all.WriteString(" or ")
		case i > 0:
			all.WriteString(", ")
		}
		all.WriteString(string(w))
	}
	return form[T]{
		value: all.String(),
		parse: func(text string) (T, error) {
			if !slices.Contains(words, T(text)) {
				return "", wrong("%s is not %s; use %s", quote(text), what, all.String())
			}
			return T(text), nil
		},
		write: func(w T) string { return string(w) },
	}
}

// unlimited is a bound for counts that have none but what a computer can hold.
const unlimited = math.MaxInt32

// count is a whole number from least to most.
func count(least, most int) form[int] {
	value := fmt.Sprintf("a number from %d", least)
	if most != unlimited {
		value += fmt.Sprintf(" to %d", most)
	}
	return form[int]{
		value: value,
		parse: func(text string) (int, error) {
			n, err := digits(text)
			switch {
			case errors.Is(err, strconv.ErrRange) || err == nil && n > int64(most):
				return 0, wrong("%s is too large; at most %d is possible", clip(text), most)
			case err != nil:
				return 0, wrong("%s is not a whole number; write one such as %d", quote(text), max(least, 64))
			case n < int64(least):
				return 0, wrong("%d is too small; at least %d is needed", n, least)
			}
			return int(n), nil
		},
		write: strconv.Itoa,
	}
}

// digits parses a decimal number. It is stricter than YAML, to which 010 is eight in
// one version and ten in the other.
func digits(text string) (int64, error) {
	plain := strings.TrimPrefix(text, "-")
	if plain == "" || strings.Trim(plain, "0123456789") != "" || len(plain) > 1 && plain[0] == '0' {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(text, 10, 64)
}

type unit struct {
	suffix string
	bytes  int64
}

func units() []unit { return []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} }

// size is a number of bytes from least to most. Zero is always possible when none is
// true.
func size[T int | int64](least, most int64, none bool) form[T] {
	value := fmt.Sprintf("a size from %s to %s", writeSize(least), writeSize(most))
	if none {
		value += ", or 0"
	}
	return form[T]{
		value: value,
		parse: func(text string) (T, error) {
			number, scale := text, int64(1)
			for _, u := range units() {
				if before, ok := strings.CutSuffix(text, u.suffix); ok {
					number, scale = strings.TrimRight(before, " "), u.bytes
				}
			}
			n, err := digits(number)
			switch {
			case errors.Is(err, strconv.ErrRange) || err == nil && n > most/scale:
				return 0, wrong("%s is too large; at most %s is possible", clip(text), writeSize(most))
			case err != nil:
				return 0, wrong("%s is not a size; write bytes, or KiB, MiB or GiB such as 4MiB", quote(text))
			case n == 0 && none:
				return 0, nil
			case n*scale < least:
				return 0, wrong("%s is too small; at least %s is needed", clip(text), writeSize(least))
			}
			return T(n * scale), nil
		},
		write: func(n T) string { return writeSize(int64(n)) },
	}
}

func writeSize(n int64) string {
	for _, u := range units() {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

// duration is a time of at least least.
func duration(least time.Duration) form[time.Duration] {
	return form[time.Duration]{
		value: "a duration such as 500ms, 10s or 5m",
		parse: func(text string) (time.Duration, error) {
			d, err := time.ParseDuration(text)
			if err != nil {
				if _, number := digits(text); number == nil {
					return 0, wrong("%s has no unit; write %[1]ss for seconds, or use ms, m or h", clip(text))
				}
				return 0, wrong("%s is not a duration; use h, m, s and ms, such as 1h30m or 10s", quote(text))
			}
			if d < least {
				return 0, wrong("%s is too short; at least %s is needed", clip(text), writeDuration(least))
			}
			return d, nil
		},
		write: writeDuration,
	}
}

// deadline is a duration, or never, whose value is the one given.
func deadline(never time.Duration) form[time.Duration] {
	f := duration(time.Millisecond)
	return form[time.Duration]{
		value: "never, or a duration such as 30m or 72h",
		parse: func(text string) (time.Duration, error) {
			if text == "never" {
				return never, nil
			}
			d, err := f.parse(text)
			if err != nil {
				return 0, wrong("%w; or never", err)
			}
			return d, nil
		},
		write: func(d time.Duration) string {
			if d == never {
				return "never"
			}
			return f.write(d)
		},
	}
}

// writeDuration writes 5m where Go writes 5m0s.
func writeDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
