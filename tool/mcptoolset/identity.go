package mcptoolset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// identity names the configured server: approvals and kept definitions belong to one server
// only. It includes the names of environment variables and headers, not their values, which
// may be secret. For Dial it is the name of the toolset.
func (c *Config) identity() string {
	what := []any{"dial", c.Name}
	switch {
	case c.Command != nil:
		env := slices.Collect(maps.Keys(c.Command.Secrets))
		for _, variable := range c.Command.Env {
			name, _, _ := strings.Cut(variable, "=")
			env = append(env, name)
		}
		slices.Sort(env)
		what = []any{"command", c.Command.Argv, c.Command.Dir, env}
	case c.HTTP != nil:
		var header []string
		for name := range c.HTTP.Header {
			header = append(header, http.CanonicalHeaderKey(name))
		}
		slices.Sort(header)
		what = []any{"http", c.HTTP.URL, header}
	}
	if c.Identity != "" {
		what = append(what, c.Identity)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", what)) // in which nothing is ambiguous
	return hex.EncodeToString(sum[:])
}
