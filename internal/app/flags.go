package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"a2a-server/internal/app/config"
)

// flags are those that a command line sets.
type flags struct {
	file   string            // of --config
	values map[string]string // by the name of the key
}

// parseFlags reads what follows a command. Every key of the configuration is a flag;
// what is wrong with its value is said together with all else that is wrong with the
// configuration.
func parseFlags(c command, args []string) (*flags, error) {
	given := &flags{values: map[string]string{}}
	set := flag.NewFlagSet(c.name, flag.ContinueOnError)
	set.SetOutput(io.Discard) // run says what is wrong
	if c.flags {
		set.StringVar(&given.file, "config", "", "")
		for _, k := range config.Keys() {
			set.Var(&value{key: k, into: given.values}, k.Flag(), "")
		}
	}
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, &usageError{fmt.Sprintf("%s: %v", c.name, err)}
	case set.NArg() > 0:
		return nil, &usageError{fmt.Sprintf("%s takes no %q: values are given with flags, such as --listen 127.0.0.1:8080", c.name, strings.Join(set.Args(), " "))}
	}
	return given, nil
}

// value is a flag of the configuration. It takes any text.
type value struct {
	key  config.Key
	into map[string]string
}

// String returns the default.
func (v *value) String() string { return v.key.Default }

// Set keeps text for config.Load.
func (v *value) Set(text string) error {
	v.into[v.key.Name] = text
	return nil
}

// IsBoolFlag reports whether the flag alone means true.
func (v *value) IsBoolFlag() bool { return isSwitch(v.key) }

func isSwitch(k config.Key) bool { return k.Default == "true" || k.Default == "false" }
