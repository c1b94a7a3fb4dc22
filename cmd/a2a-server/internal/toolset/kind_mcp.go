package toolset

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// buildMCP makes the toolset of an entry. It does not connect.
func buildMCP(w *maker, e *entry) (key string, err error) {
	c := &e.config
	out := mcptoolset.Config{
		Name: e.name(), Prefix: c.Name + "_", Only: c.Only, Trust: c.Trust, Pins: c.Pins, Ask: c.Elicit == "ask", Handshake: c.Protocol == "2025-11-25",
		Approve: c.Approve, CallTimeout: c.Timeout, Logger: w.Log, // see gatedMCP
	}
	out.Identity = identity([]any{c.Env, c.Header})
	if c.URL != "" {
		key = "url"
		out.HTTP = &mcptoolset.HTTP{URL: c.URL, Header: w.headers(c), Allow: c.Networks, Own: w.Own}
	} else {
		key = "command"
		env, secrets := w.environment(c.Env)
		out.Command = &mcptoolset.Command{Argv: c.Command, Dir: c.Dir, Secrets: secrets}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			out.Command.Env = append(out.Command.Env, name+"="+env[name])
		}
	}
	out.CacheFile = w.cacheFile(c)
	set, err := mcptoolset.New(out)
	if err != nil {
		return key, err
	}
	e.made, e.held, e.server, e.startable, e.programKey = set, set, set, set.Startable, "command"
	return "", nil
}

// gatedMCP adds the default of the kind, except for the tools that no_approve_tools names.
func gatedMCP(w *maker, e *entry) tool.Toolset {
	// With declared_gates: ignore a default asks for no approval. Without that default a tool declares only
	// that its definition is not the pinned one, and that still asks.
	if e.config.Approve != nil || w.Operator.DeclaredGates == config.IgnoreDeclared {
		return e.made
	}
	return tool.WithConfirmation(e.made, tool.ConfirmMatching(func(name string) bool { return !config.Exempt(w.Operator, name) }))
}

// showMCP adds the name of a tool in its server, its pin with its effect, and whether its hints are believed.
func showMCP(t *ToolInfo, c *config.Tool) {
	t.Own = strings.TrimPrefix(t.Name, c.Name+"_")
	t.Pin = c.Pins[t.Own]
	t.Changed = t.Pin != "" && !strings.EqualFold(t.Pin, t.Digest)
	t.Trusted = slices.Contains(c.Trust, t.Own) && !t.Changed
}

// CacheFolder makes the folder in which the definitions of MCP servers are kept, so that
// their tools are known after a restart while they are down, and returns its path. It
// returns "" if there is nothing to keep: without MCP servers, and with a store in memory,
// whose tasks end with the process.
func CacheFolder(conf *config.Config) (string, error) {
	if conf.Store == "memory" || !slices.ContainsFunc(conf.Tools.Entries, func(t config.Tool) bool { return t.Kind == config.KindMCP }) {
		return "", nil
	}
	folder := filepath.Join(conf.Data, "mcp")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("create the folder for the tool lists of MCP servers: %w: choose another data folder with data", err)
	}
	return folder, nil
}

// cacheFile returns the file for the definitions of an MCP server, "" if they are not kept. Two
// toolsets may be in use during a reload, and a failed reload must leave the file of the toolset that stays in force.
func (w *maker) cacheFile(c *config.Tool) string {
	return kept(w.Cache, c, ".json", "%q", []any{c.Name, c.Command, c.Dir, c.URL, c.Only})
}

// kept returns the path of what is kept for an entry in a folder; "": there is no folder. Its name differs for each
// choice of the entry's keys, which format and keys write.
func kept(folder string, c *config.Tool, ending, format string, keys ...any) string {
	if folder == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, format, keys...))
	return filepath.Join(folder, fmt.Sprintf("%s-%x%s", c.Name, sum[:8], ending))
}
