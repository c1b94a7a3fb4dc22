package searchtool

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Format is the version of the files of an index. An index of another version is not opened:
// give it another folder.
const Format = 1

// Folder returns the Folder of the configuration.
func (t *Tool) Folder() string { return t.config.Folder }

// NewMemory returns a tool that searches the agent's memory for the caller, as
// [tool.Context].SearchMemory does. Of c only Name, Description, Timeout and Approve count. Its result
// is a [Result] whose paths are the entries' metadata "path", if they have it, or their author.
func NewMemory(c Config) (tool.CallableTool, error) {
	return c.tool(func(ctx tool.Context, a arguments) (*Result, error) {
		found, err := ctx.SearchMemory(ctx, a.Query)
		if err != nil {
			return nil, err
		}
		words := terms(a.Query)
		var hits []hit
		for _, m := range found.Results[:min(len(found.Results), cmp.Or(max(a.Limit, 0), someResults))] {
			h := hit{path: m.Author, score: m.Score, text: m.Content, lines: []int{1}}
			if path, is := m.Metadata["path"].(string); is {
				h.path = path
			}
			if line, is := m.Metadata["line"].(int); is {
				h.lines[0] = line
			}
			hits = append(hits, h)
		}
		return resultOf(hits, words, status{documents: len(found.Results)}), nil
	})
}

// maxRanked bounds the passages of a result of Rank.
const maxRanked = 20

// Rank returns the passages of entries that match a query best, best first, with the metadata
// of their entry and its line. It analyzes like a [Tool]; its index is in memory, and gone when it
// returns.
func Rank(ctx context.Context, query string, entries []agent.MemoryResult) (best []agent.MemoryResult, err error) {
	words := terms(query)
	if len(words) == 0 || len(entries) == 0 {
		return nil, nil
	}
	x, _, err := openIndex("")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	b := newBatch()
	for i := range entries {
		var s splitter
		s.plain([]byte(strings.ToValidUTF8(entries[i].Content, "\uFFFD")))
		s.flush()
		b.add(strconv.Itoa(i), "", s.all)
	}
	if err := x.write(b); err != nil {
		return nil, err
	}
	hits, err := x.search(ctx, words, maxRanked)
	if err != nil {
		return nil, err
	}
	for i := range hits {
		h := &hits[i]
		n, err := strconv.Atoi(h.path)
		if err != nil {
			return nil, err
		}
		m := entries[n]
		m.Content, m.Score = h.text, h.score
		metadata := map[string]any{"line": h.lines[0]}
		maps.Copy(metadata, m.Metadata)
		m.Metadata = metadata
		best = append(best, m)
	}
	return best, nil
}
