package searchtool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// Config configures a tool.
type Config struct {
	Name        string // required
	Description string // which documents it searches, and for which purpose; required
	Source      Source // required
	// Folder is the folder of the index, which is made if it is missing, and which no other tool
	// may have. Defaults to a temporary folder, which Close removes.
	Folder string
	// Refresh is how old the newest scan may be before a search starts another one. Defaults to
	// 10 s.
	Refresh time.Duration
	// Wait is how long a search waits for the first scan. Then it searches the index as it is.
	// Defaults to 2 s.
	Wait time.Duration
	// Timeout bounds each call. Defaults to the limit of all calls.
	Timeout time.Duration
	// Approve says that every call has to be approved.
	Approve bool
	// Log gets the index's faults. The zero Logger discards everything.
	Log zerolog.Logger

	limits limits
}

// limits bound the index. The rest is left out, and each result says so.
type limits struct {
	documents int    // Defaults to 100,000.
	document  int64  // bytes of a document; larger documents are left out. Defaults to 4 MiB.
	text      int64  // bytes of all documents. Defaults to 1 GiB.
	diskFree  uint64 // bytes that stay free on the disk of the index, on Linux. Defaults to 512 MiB.
}

const (
	maxQuery     = 1000     // characters
	maxResults   = 50       // of a search
	someResults  = 10       // by default
	maxAnswer    = 60 << 10 // bytes of the JSON of a result, apart from its note
	refreshedFor = 100 * time.Millisecond
)

// A Tool is the tool of a [Config]. It is safe for concurrent use.
type Tool struct {
	tool.CallableTool
	config Config
	keeper keeper

	alive  context.Context //nolint:containedctx // ends with Close
	cancel context.CancelFunc
	begin  sync.Once     // with Start, a call or Close
	ended  chan struct{} // closed when nothing scans any more
}

// errClosed is the error of a search after Close.
var errClosed = errors.New("the tool was closed, such as by a reload: call it again")

// arguments are the arguments of a call.
type arguments struct {
	Query string `json:"query" jsonschema:"minLength=1,maxLength=1000" jsonschema_description:"Words to search for; the best passages have most of them"`
	Limit int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=50" jsonschema_description:"Most results to return; 10 by default"`
}

// A Match is a passage that was found.
type Match struct {
	Path  string  `json:"path"`
	Line  int     `json:"line"`  // from 1, with most of the words
	Score float64 `json:"score"` // higher is better; comparable only within one result
	Text  string  `json:"text"`  // the lines around it, at most about 2 KiB
}

// A Result is the result of a call.
type Result struct {
	Results   []Match `json:"results"`   // best first
	Documents int     `json:"documents"` // that were searched
	// Note names the documents that were not searched, and why: "" if everything was.
	Note string `json:"note,omitempty"`
}

// New returns a tool. Nothing is opened before [Tool.Start] or the first call.
func New(c Config) (*Tool, error) {
	if c.Source == nil {
		return nil, errors.New("searchtool: Source is missing")
	}
	c.setDefaults()
	t := &Tool{config: c, keeper: newKeeper(&c), ended: make(chan struct{})}
	t.alive, t.cancel = context.WithCancel(context.Background())
	var err error
	t.CallableTool, err = c.tool(func(ctx tool.Context, a arguments) (*Result, error) { return t.Search(ctx, a.Query, a.Limit) })
	if err != nil {
		return nil, err
	}
	return t, nil
}

// tool returns the tool of a search.
func (c *Config) tool(search func(tool.Context, arguments) (*Result, error)) (tool.CallableTool, error) {
	if strings.TrimSpace(c.Description) == "" {
		return nil, errors.New("searchtool: Description is missing")
	}
	t, err := functiontool.New(functiontool.Config{
		Name: c.Name, Description: c.Description, RequireApproval: c.Approve, Annotations: tool.Annotations{ReadOnly: true}, Timeout: c.Timeout,
	}, search)
	if err != nil {
		return nil, fmt.Errorf("searchtool: %w", err)
	}
	return t, nil
}

func (c *Config) setDefaults() {
	c.Refresh, c.Wait = cmp.Or(max(c.Refresh, 0), 10*time.Second), cmp.Or(max(c.Wait, 0), 2*time.Second)
	l := &c.limits
	l.documents, l.document = cmp.Or(l.documents, 100_000), cmp.Or(l.document, 4<<20)
	l.text, l.diskFree = cmp.Or(l.text, 1<<30), cmp.Or(l.diskFree, 512<<20)
}

// Unwrap returns the tool without its index; see [tool.Chain].
func (t *Tool) Unwrap() tool.Tool { return t.CallableTool }

// Start opens the index and begins the first scan, in the background. Calls after the first, or
// after Close, have no effect.
func (t *Tool) Start() { _ = t.start() } // a call has the error

func (t *Tool) start() error {
	t.begin.Do(func() {
		go func() {
			defer close(t.ended)
			t.keeper.run(t.alive)
		}()
	})
	if t.alive.Err() != nil {
		return errClosed
	}
	return nil
}

// Close ends scanning and closes the index. It waits a few seconds at most. Later calls of the
// tool fail.
func (t *Tool) Close() error {
	t.cancel()
	t.begin.Do(func() { close(t.ended) })
	select {
	case <-t.ended:
		return nil
	case <-time.After(2 * closeTime):
		return fmt.Errorf("the index of %s has not been closed in time; the next start makes it anew if it is damaged", t.config.Name)
	}
}

// Busy reports false: a call that loses its index fails, and may be repeated.
func (t *Tool) Busy() bool { return false }

// Search returns the passages that match a query best, at most limit of them, 50 at most; 0
// stands for 10. It starts the index if [Tool.Start] has not.
func (t *Tool) Search(ctx context.Context, query string, limit int) (*Result, error) {
	if len([]rune(query)) > maxQuery {
		return nil, fmt.Errorf("the query has more than %d characters: write fewer words", maxQuery)
	}
	if limit <= 0 {
		limit = someResults
	}
	words := terms(query)
	if len(words) == 0 {
		return nil, errors.New("the query has no words to search for: write letters or digits")
	}
	if err := t.start(); err != nil {
		return nil, err
	}
	if err := t.keeper.refreshed(ctx); err != nil {
		return nil, err
	}
	hits, status, err := t.keeper.search(ctx, words, min(limit, maxResults))
	if err != nil {
		return nil, err
	}
	return resultOf(hits, words, status), nil
}

// resultOf returns the result with the hits that fit into it.
func resultOf(hits []hit, words []string, s status) *Result {
	r := &Result{Results: []Match{}, Documents: s.documents, Note: s.note}
	is := map[string]bool{}
	for _, w := range words {
		is[w] = true
	}
	size := 0
	for i := range hits {
		h := &hits[i]
		m := Match{Path: h.path, Line: h.line(is), Score: h.score, Text: h.text}
		raw, _ := json.Marshal(m) // always possible
		if size += len(raw) + 1; size > maxAnswer {
			r.Note = strings.TrimPrefix(fmt.Sprintf("%s; %d more results did not fit", r.Note, len(hits)-i), "; ")
			break
		}
		r.Results = append(r.Results, m)
	}
	return r
}
