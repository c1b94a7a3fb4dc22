package searchtool

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"a2a-server/internal/lists"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/collector"
	"github.com/blevesearch/bleve/v2/search/searcher"
	index "github.com/blevesearch/bleve_index_api"
)

// The fields of a passage in the index. The id of a passage has the path and the version of its
// document, so that the ids are all that a scan needs to know.
const (
	fieldText  = "t"
	fieldAbout = "a" // the heading and the path
	fieldLines = "l" // the numbers of the lines, in full or only the first if no line is missing

	separator = "\x00" // in ids, after the path, the version and the number
)

// passageIndex is an index of passages, of bleve's kind scorch. Its methods but Close may be
// called concurrently, and readers may be in use when it is closed.
type passageIndex struct {
	index index.Index
	queue *index.AnalysisQueue
}

// openIndex opens or makes the index in a folder; "": in memory. versions has the version of each
// document in it. The folder is damaged after an error.
func openIndex(folder string) (x *passageIndex, versions map[string]string, err error) {
	if err := verify(folder); err != nil {
		return nil, nil, err
	}
	x = &passageIndex{queue: index.NewAnalysisQueue(1)}
	if err := x.open(folder); err != nil {
		x.queue.Close()
		return nil, nil, err
	}
	if versions, err = x.versions(); err != nil {
		return nil, nil, errors.Join(err, x.close())
	}
	return x, versions, nil
}

func (x *passageIndex) open(folder string) (err error) {
	defer guard(&err)()
	if x.index, err = scorch.NewScorch(scorch.Name, map[string]any{"path": folder, "bolt_timeout": "1s", "numSnapshotsToKeep": 1}, x.queue); err != nil {
		return err
	}
	return x.index.Open()
}

// verify compares each file of passages with the checksum at its end. The library maps the files
// into memory and trusts them.
func verify(folder string) error {
	if folder == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.zap"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := verifyFile(name); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

func verifyFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	sum, last := crc32.NewIEEE(), make([]byte, crc32.Size)
	if _, err := io.CopyN(sum, f, info.Size()-crc32.Size); err != nil {
		return fmt.Errorf("it is too short: %w", err)
	}
	if _, err := io.ReadFull(f, last); err != nil {
		return err
	}
	if string(sum.Sum(nil)) != string(last) {
		return errors.New("its checksum is wrong")
	}
	return nil
}

// guard returns a function to defer, which makes an error of a panic in the library, and of a
// fault in a mapped file, as when its disk fails.
func guard(err *error) (end func()) {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			*err = fmt.Errorf("%w: %v", errDamaged, r)
		}
	}
}

var errDamaged = errors.New("the index is damaged")

// closeTime bounds how long the library may take to close a damaged index.
const closeTime = 5 * time.Second

// close closes the index. No batch may be being written.
func (x *passageIndex) close() error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer guard(&err)()
		err = x.index.Close()
		x.queue.Close()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(closeTime):
		return errDamaged // a lock in it is held by a goroutine that is gone
	}
}

// batch is a change of the index.
type batch struct {
	of   *index.Batch
	size int // bytes of text
}

func newBatch() *batch { return &batch{of: index.NewBatch()} }

// add adds the passages of a document.
func (b *batch) add(name, version string, all []passage) {
	about := []byte(strings.ToValidUTF8(name, ""))
	for i := range all {
		p := &all[i]
		lines := strconv.Itoa(p.lines[0])
		if p.lines[len(p.lines)-1] != p.lines[0]+len(p.lines)-1 {
			for _, n := range p.lines[1:] {
				lines += " " + strconv.Itoa(n)
			}
		}
		d := document.NewDocument(name + separator + version + separator + strconv.Itoa(i))
		d.AddField(document.NewTextFieldCustom(fieldText, nil, []byte(p.text), index.IndexField|index.StoreField, words{}))
		d.AddField(document.NewTextFieldCustom(fieldAbout, nil, append([]byte(p.heading+" "), about...), index.IndexField, words{}))
		d.AddField(document.NewTextFieldCustom(fieldLines, nil, []byte(lines), index.StoreField, nil))
		b.of.Update(d)
		b.size += len(p.text) + 200
	}
}

// remove removes passages by id.
func (b *batch) remove(ids []string) {
	for _, id := range ids {
		if _, kept := b.of.IndexOps[id]; !kept {
			b.of.Delete(id)
			b.size += len(id)
		}
	}
}

// write writes a batch. It is durable and visible, whole, when write returns without an error.
func (x *passageIndex) write(b *batch) error {
	if len(b.of.IndexOps) == 0 {
		return nil
	}
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer guard(&err)()
		err = x.index.Batch(b.of)
	}()
	watch := time.NewTicker(time.Second)
	defer watch.Stop()
	for stuck := 0; ; {
		select {
		case err := <-done:
			return err
		case <-watch.C:
			// A goroutine of the library that has met a damaged page is gone, and the batch then waits
			// for ever.
			if n, is := x.index.StatsMap()["TotOnErrors"].(uint64); is && n > 0 {
				stuck++
			}
			if stuck > 3 {
				return errDamaged
			}
		}
	}
}

// versions returns the version of each document in the index.
func (x *passageIndex) versions() (all map[string]string, err error) {
	defer guard(&err)()
	all = map[string]string{}
	r, err := x.index.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	ids, err := r.DocIDReaderAll()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ids.Close() }() // it is only read
	for {
		internal, err := ids.Next()
		if err != nil {
			return nil, err
		}
		if internal == nil {
			return all, nil
		}
		id, err := r.ExternalID(internal)
		if err != nil {
			return nil, err
		}
		name, rest, _ := strings.Cut(id, separator)
		version, _, ok := strings.Cut(rest, separator)
		if !ok {
			return nil, fmt.Errorf("%w: it has an id of another form", errDamaged)
		}
		if _, known := all[name]; !known {
			all[strings.Clone(name)] = strings.Clone(version)
		}
	}
}

// ids returns the ids of a document's passages. Some may be gone already.
func (x *passageIndex) ids(name string) (all []string, err error) {
	defer guard(&err)()
	r, err := x.index.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	d, err := r.FieldDictPrefix("_id", []byte(name+separator))
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // it is only read
	for {
		e, err := d.Next()
		if err != nil || e == nil {
			return all, err
		}
		all = append(all, e.Term)
	}
}

// perDocument bounds the passages of a document in a result.
const perDocument = 3

// hit is a passage that was found.
type hit struct {
	path  string
	score float64
	text  string
	lines []int
}

// Bounds of the passages that a search collects to find enough documents.
const (
	collectFirst = 8
	collectMost  = 2000
)

// search returns at most limit passages, best first.
func (x *passageIndex) search(ctx context.Context, words []string, limit int) (hits []hit, err error) {
	defer guard(&err)()
	r, err := x.index.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for n := collectFirst * limit; ; n *= 8 {
		best, err := collected(ctx, r, words, min(n, collectMost))
		if err != nil {
			return nil, err
		}
		hits = hits[:0]
		count := map[string]int{}
		for _, match := range best {
			path, _, _ := strings.Cut(match.ID, separator)
			if count[path]++; count[path] > perDocument {
				continue
			}
			h := hit{path: path}
			if err := h.read(r, match); err != nil {
				return nil, err
			}
			if hits = append(hits, h); len(hits) == limit {
				return hits, nil
			}
		}
		if len(best) < n {
			return hits, nil
		}
	}
}

// collected returns the n best passages.
func collected(ctx context.Context, r index.IndexReader, words []string, n int) (best search.DocumentMatchCollection, err error) {
	if ctx, err = scoring(ctx, r); err != nil {
		return nil, err
	}
	var all []search.Searcher
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, word := range words {
		for _, of := range fields {
			s, err := searcher.NewTermSearcher(ctx, r, word, of.name, of.boost, search.SearcherOptions{})
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	some, err := searcher.NewDisjunctionSearcher(ctx, r, all, 0, search.SearcherOptions{})
	if err != nil {
		return nil, err
	}
	all = []search.Searcher{some}
	c := collector.NewTopNCollector(n, 0, search.SortOrder{&search.SortScore{Desc: true}})
	if err := c.Collect(ctx, some, r); err != nil {
		return nil, err
	}
	return c.Results(), nil
}

// fields are the fields that are searched. length is the usual number of words in them: the
// library would take the number of different words in the index for it.
var fields = [...]struct {
	name   string
	boost  float64
	length int
}{{fieldText, 1, 100}, {fieldAbout, 0.5, 8}}

// scoring returns a context in which the library scores by BM25.
func scoring(ctx context.Context, r index.IndexReader) (context.Context, error) {
	count, err := r.DocCount()
	if err != nil {
		return nil, err
	}
	stats := &search.BM25Stats{DocCount: float64(count), FieldCardinality: map[string]int{}}
	for _, f := range fields {
		stats.FieldCardinality[f.name] = f.length * int(count)
	}
	ctx = context.WithValue(ctx, search.BM25StatsKey, stats)
	return context.WithValue(ctx, search.GetScoringModelCallbackKey, search.GetScoringModelCallbackFn(func() string { return index.BM25Scoring })), nil
}

// read reads the passage that a match stands for.
func (h *hit) read(r index.IndexReader, match *search.DocumentMatch) error {
	h.score = math.Round(match.Score*1000) / 1000
	d, err := r.Document(match.ID)
	if err != nil {
		return err
	}
	if d == nil {
		return fmt.Errorf("%w: a passage is missing", errDamaged)
	}
	d.VisitFields(func(f index.Field) {
		switch f.Name() {
		case fieldText:
			h.text = string(f.Value())
		case fieldLines:
			for n := range strings.FieldsSeq(string(f.Value())) {
				number, _ := strconv.Atoi(n) // it was written by add
				h.lines = append(h.lines, number)
			}
		}
	})
	if len(h.lines) == 0 {
		return fmt.Errorf("%w: a passage has no lines", errDamaged)
	}
	return nil
}

// line returns the number of the line that has most of the words, the first of several.
func (h *hit) line(words map[string]bool) int {
	best, most, i := h.lines[0], 0, 0
	for line := range strings.SplitSeq(h.text, "\n") {
		have := map[string]bool{}
		for _, t := range analyze(line) {
			if words[t] {
				have[t] = true
			}
		}
		if len(have) > most {
			if most, best = len(have), h.lines[0]+i; i < len(h.lines) && len(h.lines) > 1 {
				best = h.lines[i]
			}
		}
		i++
	}
	return best
}

func analyze(text string) []string {
	return lists.Map((words{}).Analyze([]byte(text)), func(t *analysis.Token) string { return string(t.Term) })
}
