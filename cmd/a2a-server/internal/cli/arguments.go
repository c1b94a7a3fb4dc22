package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/display"
)

// Takes makes a command take arguments with these names, each of which must be there.
func Takes(c *cobra.Command, hint string, names ...string) {
	c.Args = func(c *cobra.Command, args []string) error { return Exactly(c, args, hint, names...) }
}

// Exactly returns an error unless the arguments of a command have these names, and each is there.
func Exactly(c *cobra.Command, args []string, hint string, names ...string) error {
	if len(args) != len(names) || slices.Contains(args, "") {
		return Usage("%s takes %s%s", Within(c), strings.Join(names, " and "), hint)
	}
	return nil
}

// ReadObject returns the JSON object of arguments that is text or, with a reader, is read from
// that. It has at most so many bytes.
func ReadObject(command, text string, from io.Reader, most int64) (string, error) {
	if from != nil {
		raw, err := io.ReadAll(io.LimitReader(from, most+1))
		if err != nil {
			return "", fmt.Errorf("read the arguments: %w", err)
		}
		text = string(raw)
	}
	switch text = strings.TrimSpace(text); {
	case int64(len(text)) > most:
		return "", Usage("%s: the arguments have more than %d KiB", command, most>>10)
	case !utf8.ValidString(text):
		return "", Usage("%s: the arguments are not valid UTF-8", command)
	case !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)):
		return "", Usage("%s: the arguments are not a JSON object; write one such as '{\"key\": \"value\"}'", command)
	}
	return text, nil
}

// maxArguments is how many bytes of arguments --json takes.
const maxArguments = 4 << 20

// ObjectFlag gives c the flag --json for the arguments of a call. read returns the flag's object, if it was given; pairs
// are the arguments of the form key=value.
func (p *Program) ObjectFlag(c *cobra.Command) (read func(pairs []string) (object string, given bool, err error)) {
	object := c.Flags().String("json", "", "The arguments as a JSON `object`; - reads it from standard input.")
	return func(pairs []string) (string, bool, error) {
		var from io.Reader
		switch {
		case !c.Flags().Changed("json"):
			return "", false, nil
		case len(pairs) > 0:
			return "", true, Usage("%s: write the arguments with --json or as key=value, not both", Within(c))
		case *object == "-":
			from = p.Stdin
		}
		text, err := ReadObject(Within(c), *object, from, maxArguments)
		return text, true, err
	}
}

// Span reads a number of days such as 90d, or a duration as Go writes it.
func Span(text string) (time.Duration, error) {
	if number, found := strings.CutSuffix(text, "d"); found {
		days, err := strconv.ParseUint(number, 10, 16)
		return time.Duration(days) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// Complete gives a flag of c words to complete it with.
func Complete(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist
	}
}

// Count returns how many of several conditions hold.
func Count(all ...bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

// PairText joins key=value arguments of a command line. The shell has removed the quotes from
// values, so values that need quotes get them back.
func PairText(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if !ok || key == "" || strings.ContainsFunc(key, func(r rune) bool { return r == '"' || unicode.IsSpace(r) }) {
			return strings.Join(args, " ") // not pairs
		}
		quoted[i] = key + "=" + quotedValue(value)
	}
	return strings.Join(quoted, " ")
}

// quotedValue returns a value as it is written in a message.
func quotedValue(v string) string {
	if v == "" || strings.ContainsRune(`"[{`, rune(v[0])) && json.Valid([]byte(v)) {
		return v
	}
	if v[0] != '"' && !strings.ContainsFunc(v, unicode.IsSpace) {
		return v
	}
	return string(display.JSONString(v))
}
