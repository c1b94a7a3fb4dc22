package mcptoolset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"a2a-server/internal/privatefile"
)

const (
	cacheVersion = 1
	maxCache     = 64 << 20 // bytes; a listing is limited to less
)

// cached is the content of a cache file.
type cached struct {
	Version     int          `json:"version"`
	Server      string       `json:"server"` // which server it is of
	Definitions []definition `json:"definitions"`
}

// load reads the cache file, once. The caller has the lock.
func (t *Toolset) load() {
	if t.loaded || t.cfg.CacheFile == "" {
		return
	}
	t.loaded = true
	c, raw, err := readCache(t.cfg.CacheFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		t.trouble = fmt.Sprintf("the cache of tools is not used: %v; it is written again", err)
	case c.Server == t.identity && t.known == nil:
		t.known, t.saved = t.offer(c.Definitions, nil, false, nil), raw
	}
}

func readCache(path string) (*cached, []byte, error) {
	raw, err := privatefile.Read(path, maxCache)
	if err != nil {
		return nil, nil, err
	}
	var c cached
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.Version != cacheVersion {
		return nil, nil, fmt.Errorf("%s has version %d, and this program reads version %d", path, c.Version, cacheVersion)
	}
	return &c, raw, nil
}

// save writes the cache file if its content changed. Only one attempt may call it at a time.
func (t *Toolset) save(l *listing) {
	if t.cfg.CacheFile == "" {
		return
	}
	raw, err := json.Marshal(cached{Version: cacheVersion, Server: t.identity, Definitions: l.definitions})
	t.mu.Lock()
	same := bytes.Equal(raw, t.saved)
	t.mu.Unlock()
	if err == nil && same {
		return
	}
	if err == nil {
		err = privatefile.Replace(t.cfg.CacheFile, raw, 0 /* keep */)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.trouble = fmt.Sprintf("the cache of tools cannot be written: %v", err)
		t.cfg.Logger.Warn().Str("mcp_server", t.cfg.Name).Err(err).Msg("cache of mcp tools cannot be written")
		return
	}
	t.saved, t.trouble = raw, ""
}
