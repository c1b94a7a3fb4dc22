package mcptoolset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxCache+1))
	if err != nil {
		return nil, nil, err
	}
	if len(raw) > maxCache {
		return nil, nil, fmt.Errorf("%s has more than %d bytes", path, maxCache)
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

// save writes the cache file if its content changed. One attempt calls it at a time.
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
		err = replace(t.cfg.CacheFile, raw)
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

// replace writes a file so that a crash leaves the old one or the new one.
func replace(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// The rest of the attempt; the error says enough.
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	// Not every system can sync a folder, and only a cache is at stake.
	_ = dir.Sync()
	return dir.Close()
}
