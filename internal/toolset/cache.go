package toolset

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"a2a-server/internal/app/config"
)

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

// cacheFile returns the file for the definitions of an MCP server, "" if they are not kept.
// Its name differs for each server and each choice of its tools: two toolsets may be in use
// during a reload, and a failed reload must leave the file of the toolset that stays in force.
func (w *workshop) cacheFile(c *config.Tool) string {
	if w.cache == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []any{c.Name, c.Argv, c.Dir, c.URL, c.Only}))
	return filepath.Join(w.cache, fmt.Sprintf("%s-%x.json", c.Name, sum[:8]))
}
