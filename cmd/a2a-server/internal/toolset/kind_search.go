package toolset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/tool"
	"a2a-server/tool/searchtool"
)

// buildSearch makes the tool of an entry. Its index is not opened before [State.Start], or a call.
func buildSearch(w *maker, e *entry) (key string, err error) {
	c := &e.config
	approve := w.approval(c)
	asks := approve != nil && *approve
	if c.Memory {
		t, err := searchtool.NewMemory(searchtool.Config{Name: c.Name, Description: c.Description, Timeout: c.Timeout, Approve: asks})
		return e.single("search", t, err)
	}
	source := &searchtool.Folders{Paths: c.Folders, Extensions: c.Extensions}
	key = "folders"
	if c.Folder != "" {
		source.Paths, key = []string{c.Folder}, "folder"
	}
	out := searchtool.Config{
		Name: c.Name, Description: c.Description, Source: source, Folder: kept(w.Index, c, "", "%d %q", searchtool.Format, []any{c.Folder, c.Folders, c.Extensions}), Refresh: c.Refresh, Timeout: c.Timeout, Approve: asks, Log: w.Log,
	}
	if w.Only != "" {
		out.Wait = time.Hour // a call in a server of its own has as long as a call may take
	}
	t, err := searchtool.New(out)
	if err != nil {
		return key, err
	}
	e.made, e.held = tool.NewToolset(e.name(), t), t
	e.startable, e.programKey = source.Check, key
	return "", nil
}

// IndexFolder returns the folder for the indexes of searches; "": there is none, as with a
// store in memory.
func IndexFolder(conf *config.Config) string {
	if conf.Store == "memory" {
		return ""
	}
	return filepath.Join(conf.Data, "search")
}

// Start starts the work in the background: the indexes of searches. For a server that makes a
// single call it does nothing.
func (s *State) Start() {
	for _, e := range s.box.entries {
		if t, is := e.held.(*searchtool.Tool); is && !s.single {
			t.Start()
		}
	}
}

// Sweep removes the indexes of searches that the configuration no longer has. Call it before
// [State.Start], in the only process that uses the folder.
func (s *State) Sweep() error {
	if s.index == "" {
		return nil
	}
	all, err := os.ReadDir(s.index)
	if err != nil {
		return nil //nolint:nilerr // there is no index yet
	}
	for _, one := range all {
		path := filepath.Join(s.index, one.Name())
		if slices.ContainsFunc(s.box.entries, func(e *entry) bool {
			t, is := e.held.(*searchtool.Tool)
			return is && t.Folder() == path
		}) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the index of a search that is not configured: %w", err)
		}
	}
	return nil
}
