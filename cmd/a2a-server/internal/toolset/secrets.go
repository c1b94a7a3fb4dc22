package toolset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/privatefile"
)

// maxSecret is the maximum size of a file with a secret, in bytes.
const maxSecret = 64 << 10

// secrets reads the secrets of a configuration, each time that a secret is used. It is safe
// for concurrent use. Its errors name a secret, without its place or value, because callers of
// tools see them. The log has the rest.
type secrets struct {
	places map[string]config.Secret
	env    []string // NAME=value
	log    zerolog.Logger

	mu      sync.Mutex
	failing map[string]string // errors of secrets that cannot be read, by name
}

// read returns the secret of that name.
func (s *secrets) read(name string) (string, error) {
	value, err := s.find(name)
	s.note(name, err)
	if err != nil {
		return "", fmt.Errorf("the secret %s cannot be read; the log of the server says why", name)
	}
	return value, nil
}

// note logs that a secret cannot be read, or can be read again: once until that changes, because
// strangers may cause a read.
func (s *secrets) note(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, failing := s.failing[name]
	switch {
	case err == nil && failing:
		delete(s.failing, name)
		s.log.Info().Str("secret", name).Msg("the secret can be read again")
	case err != nil && before != err.Error():
		if s.failing == nil {
			s.failing = map[string]string{}
		}
		s.failing[name] = err.Error()
		s.log.Error().Err(err).Str("secret", name).Msg("a secret cannot be read")
	}
}

// named is read for tools.
func (s *secrets) named(_ context.Context, name string) (string, error) { return s.read(name) }

// find is read with an error for the operator.
func (s *secrets) find(name string) (string, error) {
	place, ok := s.places[name]
	if !ok {
		return "", errors.New("there is no such secret; add it under secrets")
	}
	return ReadSecret(place, s.env)
}

// ReadSecret returns the secret at a place. env is the environment, as os.Environ returns it. The
// error is for the operator.
func ReadSecret(place config.Secret, env []string) (string, error) {
	if place.File != "" {
		return readSecret(place.File)
	}
	value, ok := config.Lookup(env, place.Env)
	switch {
	case !ok:
		return "", fmt.Errorf("the environment variable %s is not set; set it for the process that serves", place.Env)
	case value == "":
		return "", fmt.Errorf("the environment variable %s is empty", place.Env)
	}
	return value, nil
}

// check returns the problems with the places of secrets, for the log. They are no errors,
// because a secret may be put in its place later.
func (s *secrets) check() (warnings []string) {
	for _, name := range slices.Sorted(maps.Keys(s.places)) {
		if _, err := s.find(name); err != nil {
			warnings = append(warnings, fmt.Sprintf("the secret %s cannot be read now: %v", name, err))
		}
	}
	return warnings
}

// readSecret returns the secret in a file, without the line break at its end.
func readSecret(path string) (string, error) {
	text, err := privatefile.Read(path, maxSecret)
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if err == nil && value == "" {
		err = fmt.Errorf("%s is empty", path)
	}
	return value, err
}

// secretPart matches a reference to a secret, or an escaped brace, in the value of a header.
var secretPart = regexp.MustCompile(`\{\{|\}\}|\{secret:([^{}]+)\}`)

// filled returns a function that fills the secrets into the value of a header, in which {{
// and }} are braces.
func (s *secrets) filled(template string) func() (string, error) {
	return func() (string, error) {
		var failed error
		value := secretPart.ReplaceAllStringFunc(template, func(part string) string {
			if part == "{{" || part == "}}" {
				return part[:1]
			}
			secret, err := s.read(secretPart.FindStringSubmatch(part)[1])
			if err != nil {
				failed = err
			}
			return secret
		})
		if failed == nil && strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			failed = errors.New("a secret has a character that no header can have, such as a line break")
		}
		if failed != nil {
			return "", failed
		}
		return value, nil
	}
}
