package searchtool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

// Format is the version of the files of an index. An index of another version is not opened:
// give it another folder.
const Format = 1

// Folder returns the Folder of the configuration.
func (t *Tool) Folder() string { return t.config.Folder }

// MemoryConfig configures a tool that searches the memory of its calls.
type MemoryConfig struct {
	Name, Description string        // required
	Timeout           time.Duration // Defaults to the limit of all calls.
	Approve           bool          // every call has to be approved
}

// NewMemory returns a tool that searches the agent's memory for the caller, as
// [tool.Context].SearchMemory does. Its result is a [Result] whose paths are the entries'
// metadata "path", if they have it, or their author.
func NewMemory(c MemoryConfig) (tool.CallableTool, error) {
	if strings.TrimSpace(c.Description) == "" {
		return nil, errors.New("searchtool: Description is missing")
	}
	t, err := functiontool.New(functiontool.Config{
		Name: c.Name, Description: c.Description, RequireApproval: c.Approve, Annotations: tool.Annotations{ReadOnly: true}, Timeout: c.Timeout,
	}, func(ctx tool.Context, a arguments) (*Result, error) {
		found, err := ctx.SearchMemory(ctx, a.Query)
		if err != nil {
			return nil, err
		}
		words := terms(a.Query)
		if a.Limit <= 0 {
			a.Limit = someResults
		}
		var hits []hit
		for _, m := range found.Results[:min(len(found.Results), a.Limit)] {
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
	if err != nil {
		return nil, fmt.Errorf("searchtool: %w", err)
	}
	return t, nil
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
	x, err := openIndex("")
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
