package searchtool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"a2a-server/tool/agent"
	"a2a-server/tool/searchtool"
)

func TestMain(m *testing.M) {
	// Tests mostly wait, for answers and for time limits: more of them run side by side than there
	// are processors, unless -parallel says otherwise.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // it is a flag of every test program
	}
	goleak.VerifyTestMain(m)
}

// fixture is a tool over a folder of files.
type fixture struct {
	*testing.T
	folder string
	config searchtool.Config
	tool   *searchtool.Tool
	log    *safeBuffer
}

type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newFixture returns a fixture with files, by path. Its index is kept, and as new as the files.
func newFixture(t *testing.T, files map[string]string) *fixture {
	f := &fixture{T: t, folder: t.TempDir(), log: &safeBuffer{}}
	for name, content := range files {
		f.write(name, content)
	}
	f.config = searchtool.Config{
		Name: "docs", Description: "Searches the documents.", Source: &searchtool.Folders{Paths: []string{f.folder}}, Folder: filepath.Join(t.TempDir(), "index"),
		Wait: time.Minute, Refresh: time.Nanosecond, Log: zerolog.New(f.log),
	}.WithLimits(0, 0, 1)
	return f
}

func (f *fixture) write(name, content string) {
	f.Helper()
	path := filepath.Join(f.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) open() *searchtool.Tool {
	f.Helper()
	var err error
	if f.tool, err = searchtool.New(f.config); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(f.close)
	return f.tool
}

func (f *fixture) close() {
	f.Helper()
	if err := f.tool.Close(); err != nil {
		f.Errorf("Close() = %v", err)
	}
}

func (f *fixture) search(query string) *searchtool.Result {
	f.Helper()
	if f.tool == nil {
		f.open()
	}
	r, err := f.tool.Search(f.Context(), query, 0)
	if err != nil {
		f.Fatalf("Search(%q) = %v", query, err)
	}
	return r
}

// places returns the path and the line of each result.
func places(r *searchtool.Result) (all []string) {
	for _, m := range r.Results {
		all = append(all, fmt.Sprintf("%s:%d", m.Path, m.Line))
	}
	return all
}

func (f *fixture) find(query string, want ...string) *searchtool.Result {
	f.Helper()
	r := f.search(query)
	if diff := cmp.Diff(want, places(r)); diff != "" {
		f.Errorf("Search(%q) (-want +got):\n%s", query, diff)
	}
	return r
}

// eventually repeats a search until it has the results: the scan before may have missed a change
// that was made while it ran.
func (f *fixture) eventually(query string, want ...string) {
	f.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx, cancel := context.WithTimeout(f.Context(), 20*time.Second); ; <-tick.C {
		r := f.search(query)
		if slices.Equal(places(r), want) {
			cancel()
			return
		}
		if ctx.Err() != nil {
			cancel()
			f.Fatalf("Search(%q) = %v, want %v", query, places(r), want)
		}
	}
}

// Citations have the path, the line in the file and the text around it, in every format.
func TestCitations(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{
		"guide/a.md":   "# Boats\n\nFirst line.\n\n## Mooring\n\nTie the *rope* to the bollard.\nThen wait.\n\n```sh\n# no heading: zeppelin\n```\n",
		"b.txt":        strings.Repeat("filler words\n", 300) + "the quokka sleeps\n" + strings.Repeat("more filler\n", 300),
		"c.html":       "<!doctype html>\n<html><head><title>Harbor\nrules</title>\n<style>hidden {}</style><script>var hidden = 1</script></head>\n<body><h1>Fees</h1>\n<p>A <b>berth</b> costs\nsix crowns.</p><ul><li>one<li>two</ul></body></html>",
		"d.json":       "{\n  \"fees\": [\n    {\"name\": \"berth \\u00e9lite\", \"price\": 17}\n  ],\n  \"open\": true\n}",
		"e.json":       "{\"event\": \"departed\"}\n{\"event\": \"arrived\"}\n",
		"broken.json":  "{\"a\": \n  \"narwhal",
		"f.MD":         "ÜBER Straße naïve コーヒー 駅前\n",
		"other.pdf":    "quokka",
		".hidden.md":   "quokka",
		".git/x.md":    "quokka",
		"no extension": "quokka",
	})
	for query, want := range map[string][]string{
		"quokka":                {"b.txt:301"},
		"mooring ropes bollard": {"guide/a.md:7"},
		"zeppelin":              {"guide/a.md:11"},
		"berth six crowns":      {"c.html:6", "d.json:3"},
		"hidden":                nil,
		"elite":                 {"d.json:3"},
		"arrived":               {"e.json:2"},
		"narwhal":               {"broken.json:2"},
		"uber strasse":          {"f.MD:1"},
		"駅":                     {"f.MD:1"},
		"コーヒー":                  {"f.MD:1"},
		"naive":                 {"f.MD:1"},
		"nothing_has_this":      nil,
	} {
		if got := places(f.search(query)); !slices.Equal(got, want) {
			t.Errorf("Search(%q) = %q, want %q", query, got, want)
		}
	}
	r := f.search("fees")
	if i := slices.IndexFunc(r.Results, func(m searchtool.Match) bool { return m.Path == "d.json" }); i < 0 || !strings.Contains(r.Results[i].Text, "fees.price: 17") {
		t.Errorf("Search(fees) = %+v", r)
	}
	if r.Documents != 7 || r.Note != "" {
		t.Errorf("%d documents were searched, with the note %q", r.Documents, r.Note)
	}
}

// Better passages come first, and a long document does not fill the result.
func TestRanking(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{
		"both.md": "The harbor master sends an invoice.", "one.md": "A harbor.", "heading.md": "# Invoice of the harbor\n\nText about something else.",
		"long.txt": strings.Repeat("harbor invoice and a lot of other words that say nothing at all about it\n", 500),
	})
	got := places(f.search("the invoice of a harbor"))
	if len(got) != 6 || got[len(got)-1] != "one.md:1" {
		t.Errorf("Search() = %q", got)
	}
}

// The index follows files that appear, change and go, also while no tool runs.
func TestChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.md": "apple", "b.md": "banana", "c.md": ""})
	f.find("apple", "a.md:1")
	f.write("a.md", "avocado")
	f.write("c.md", "cherry")
	if err := os.Remove(filepath.Join(f.folder, "b.md")); err != nil {
		t.Fatal(err)
	}
	f.eventually("avocado", "a.md:1")
	f.eventually("cherry", "c.md:1")
	f.find("apple")
	f.find("banana")
	for same := false; !same; { // again, if this machine is slower than the resolution of the file's time
		f.write("c.md", "citron") // of equal length
		f.eventually("citron", "c.md:1")
		then, err := os.Stat(filepath.Join(f.folder, "c.md"))
		if err != nil {
			t.Fatal(err)
		}
		f.write("c.md", "quince")
		if err := os.Chtimes(filepath.Join(f.folder, "c.md"), then.ModTime(), then.ModTime()); err != nil {
			t.Fatal(err)
		}
		same = time.Since(then.ModTime()) < time.Second
	}
	f.eventually("quince", "c.md:1")
	f.close()

	f.write("a.md", "apricot and more")
	f.write("d.md", "damson")
	f.open()
	f.find("apricot", "a.md:1")
	f.find("avocado")
	f.find("damson", "d.md:1")
	f.find("quince", "c.md:1")
	if log := f.log.String(); log != "" {
		t.Errorf("the log has %s", log)
	}
}

// counted counts the documents that are read.
type counted struct {
	searchtool.Source
	mu    sync.Mutex
	reads []string
	fail  error
}

func (c *counted) Documents(ctx context.Context, limit int) ([]searchtool.Document, string, error) {
	c.mu.Lock()
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		return nil, "", fail
	}
	return c.Source.Documents(ctx, limit)
}

func (c *counted) Read(ctx context.Context, path string, limit int64) ([]byte, string, error) {
	c.mu.Lock()
	c.reads = append(c.reads, path)
	c.mu.Unlock()
	return c.Source.Read(ctx, path, limit)
}

func (c *counted) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.reads
	c.reads = nil
	return all
}

// age makes files look as if they had not been changed for an hour.
func (f *fixture) age(names ...string) {
	f.Helper()
	then := time.Now().Add(-time.Hour)
	for _, name := range names {
		if err := os.Chtimes(filepath.Join(f.folder, name), then, then); err != nil {
			f.Fatal(err)
		}
	}
}

// A file that has not changed is not read again, also not by the next process, and also if it is
// no text.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.md": "apple", "b.md": "\x00\x01", "c.md": " "})
	f.age("a.md", "b.md", "c.md")
	source := &counted{Source: f.config.Source}
	f.config.Source = source
	f.find("apple", "a.md:1")
	if got := source.take(); len(got) != 3 {
		t.Errorf("the first scan has read %q", got)
	}
	for range 5 {
		f.find("apple", "a.md:1")
	}
	if got := source.take(); len(got) != 0 {
		t.Errorf("later scans have read %q", got)
	}
	f.close()
	f.open()
	f.find("apple", "a.md:1")
	if got := source.take(); slices.Contains(got, "a.md") {
		t.Errorf("another process has read %q", got)
	}
	if r := f.search("apple"); !strings.Contains(r.Note, "1 documents cannot be read or are no text, such as b.md") {
		t.Errorf("the note is %q", r.Note)
	}
}

// A source that fails leaves the index as it is, and the result says so.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.md": "apple"})
	source := &counted{Source: f.config.Source}
	f.config.Source = source
	f.find("apple", "a.md:1")
	source.mu.Lock()
	source.fail = errors.New("the disk is gone")
	source.mu.Unlock()
	f.eventuallyNote("apple", "the index may be old: the disk is gone")
	f.find("apple", "a.md:1")
	source.mu.Lock()
	source.fail = nil
	source.mu.Unlock()
	f.eventuallyNote("apple", "")
	if n := strings.Count(f.log.String(), "the disk is gone"); n != 1 {
		t.Errorf("the log has %d lines about it:\n%s", n, f.log)
	}
}

func (f *fixture) eventuallyNote(query, note string) {
	f.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx, cancel := context.WithTimeout(f.Context(), 20*time.Second); ; <-tick.C {
		r := f.search(query)
		if strings.Contains(r.Note, note) && (note != "" || r.Note == "") {
			cancel()
			return
		}
		if ctx.Err() != nil {
			cancel()
			f.Fatalf("the note is %q, want %q", r.Note, note)
		}
	}
}

// An index that is lost or damaged is made anew, with one line in the log.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	flip := func(at func(size int) int) func(string) error {
		return func(name string) error {
			content, err := os.ReadFile(name)
			if err == nil && len(content) > 0 {
				content[at(len(content))] ^= 0x55
				err = os.WriteFile(name, content, 0o600)
			}
			return err
		}
	}
	for name, tt := range map[string]struct {
		files  string
		damage func(string) error
		lines  int
	}{
		"lost":             {"*", os.Remove, 0},
		"passages flipped": {"*.zap", flip(func(n int) int { return n / 2 }), 1},
		"passages cut":     {"*.zap", func(name string) error { return os.Truncate(name, 100) }, 1},
		"passages empty":   {"*.zap", func(name string) error { return os.Truncate(name, 0) }, 1},
		"passages lost":    {"*.zap", os.Remove, -1},
		"root flipped":     {"root.bolt", flip(func(int) int { return 4096*2 + 8 }), -1},
		"root zero": {"root.bolt", func(name string) error {
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, make([]byte, info.Size()), 0o600)
		}, 1},
		"root cut":   {"root.bolt", func(name string) error { return os.Truncate(name, 5000) }, -1},
		"root empty": {"root.bolt", func(name string) error { return os.Truncate(name, 0) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, map[string]string{"a.md": "apple", "b.md": "banana"})
			f.find("apple", "a.md:1")
			f.close()
			files, err := filepath.Glob(filepath.Join(f.config.Folder, "index", tt.files))
			if err != nil || len(files) == 0 {
				t.Fatalf("the index has no files: %v", err)
			}
			for _, file := range files {
				if err := tt.damage(file); err != nil {
					t.Fatal(err)
				}
			}
			f.open()
			f.eventually("apple", "a.md:1")
			f.write("c.md", "cherry")
			f.eventually("cherry", "c.md:1")
			f.eventually("banana", "b.md:1")
			if n := strings.Count(f.log.String(), "\n"); tt.lines >= 0 && n != tt.lines || n > 1 {
				t.Errorf("the log has %d lines:\n%s", n, f.log)
			}
		})
	}
}

// An index that is damaged while it is in use ends no process, and is made anew.
func TestDamagedWhileOpen(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("%03d.md", i)] = fmt.Sprintf("word%d and %s", i, strings.Repeat("other words ", 200))
	}
	f := newFixture(t, files)
	f.find("word217", "217.md:1")
	cut, err := filepath.Glob(filepath.Join(f.config.Folder, "index", "*.zap"))
	if err != nil || len(cut) == 0 {
		t.Fatal(cut, err)
	}
	for _, name := range cut {
		if err := os.Truncate(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.tool.Search(t.Context(), "word118", 1); err == nil || !strings.Contains(err.Error(), "is being made anew") {
		t.Errorf("Search() in a damaged index = %v", err)
	}
	for ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second); ; {
		r, err := f.tool.Search(ctx, "word118", 1)
		if err == nil && len(r.Results) == 1 {
			cancel()
			break
		}
		if ctx.Err() != nil {
			cancel()
			t.Fatalf("Search() = %v", err)
		}
	}
}

// Two tools with one folder of the index do not harm each other, nor wait for ever.
func TestIndexInUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.md": "apple"})
	f.find("apple", "a.md:1")
	second := *f
	second.tool = nil
	began := time.Now()
	second.find("apple", "a.md:1")
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("the second one took %v", took)
	}
	if !strings.Contains(f.log.String(), "another one is made in a temporary folder") {
		t.Errorf("the log has %s", f.log)
	}
	f.find("apple", "a.md:1")
}

// Without a folder the index is temporary.
func TestTemporaryIndex(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	f := newFixture(t, map[string]string{"a.md": "apple"})
	f.config.Folder = ""
	f.find("apple", "a.md:1")
	f.close()
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("Close() left %v, %v", left, err)
	}
	if _, err := f.tool.Search(t.Context(), "apple", 1); err == nil {
		t.Error("Search() after Close() found something")
	}
}

// Hostile files cost no more than their limits, and reach nothing outside of the folder.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.md"), []byte("topsecret"), 0o600); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat(`{"a":[`, 200_000) + `"buried"` + strings.Repeat(`]}`, 200_000)
	f := newFixture(t, map[string]string{
		"good.md":          "apple",
		"binary.md":        "\x7fELF\x00\x00topsecret",
		"latin1.txt":       strings.Repeat("\xe9t\xe9 topsecret ", 100),
		"invalid.txt":      "almost \xff fine text, with pear " + strings.Repeat("and more ", 20),
		"deep.json":        deep,
		"headings.md":      strings.Repeat("# a\n", 1<<20),
		"bomb.html":        strings.Repeat("<div><table><b>", 150_000) + "plum" + strings.Repeat("<!--", 1000),
		"open.html":        "<title>grape</title><script>unclosed topsecret",
		"line.txt":         strings.Repeat("x", 3<<20) + " kiwi",
		"empty.txt":        strings.Repeat("\n", 3<<20) + "lemon",
		"huge.md":          strings.Repeat("topsecret ", 500_000),
		"wild.md":          "melon \x1b[31m\u202e\x07 end",
		"bad\nname.md":     "topsecret",
		"bad\u202ename.md": "topsecret",
		"bad\xffname.md":   "topsecret",
	})
	for link, to := range map[string]string{
		"link.md": filepath.Join(outside, "secret.md"), "up.md": "../../../../../../../etc/hostname.md", "folder": outside, "loop": ".", "self.md": "self.md",
	} {
		if err := os.Symlink(to, filepath.Join(f.folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(f.folder, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.find("topsecret")
	f.find("apple", "good.md:1")
	f.find("pear", "invalid.txt:1")
	f.find("buried", "deep.json:1")
	f.find("plum", "bomb.html:1")
	f.find("kiwi", "line.txt:1")
	f.find("lemon", "empty.txt:3145729")
	if r := f.search("a in headings"); len(r.Results) == 0 || r.Results[0].Path != "headings.md" || len(r.Results[0].Text) < 100 {
		t.Errorf("Search() in headings = %+v", r)
	}
	if r := f.find("melon", "wild.md:1"); strings.ContainsAny(r.Results[0].Text, "\x1b\x07") {
		t.Errorf("the text has control characters: %q", r.Results[0].Text)
	}
	for _, want := range []string{"1 documents have more than 4096 KiB", "2 documents cannot be read or are no text", "names have control characters"} {
		if r := f.search("apple"); !strings.Contains(r.Note, want) {
			t.Errorf("the note is %q, without %q", r.Note, want)
		}
	}
}

// Too many files, or too much text, are a clear message, and the others are searched.
func TestLimits(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("%02d.md", i)] = "apple " + strings.Repeat("and text ", 100)
	}
	for name, tt := range map[string]struct {
		most      int
		text      int64
		documents int
		note      string
	}{
		"documents": {15, 0, 15, "more than 15 files, and the others are not searched: name a smaller folder, or fewer extensions"},
		"text":      {0, 5000, 5, "the documents have more than 0 MiB, and 15 of them are not searched"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, files)
			f.config = f.config.WithLimits(tt.most, tt.text, 1)
			if r := f.search("apple"); r.Documents != tt.documents || !strings.Contains(r.Note, tt.note) {
				t.Errorf("Search() = %d documents, %q", r.Documents, r.Note)
			}
		})
	}
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, files)
		f.config = f.config.WithLimits(0, 0, 1<<60)
		f.open()
		if _, err := f.tool.Search(t.Context(), "apple", 1); err == nil || !strings.Contains(err.Error(), "stay free for others") {
			t.Errorf("Search() = %v", err)
		}
	})
}

// A result has at most 64 KiB.
func TestLargeResult(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("%02d.txt", i)] = strings.Repeat("\"\u2028<>&&& apple ", 64*20) // 16 bytes, so that all passages have a kilobyte
	}
	f := newFixture(t, files)
	f.open()
	r, err := f.tool.Search(t.Context(), "apple", 50)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil || len(raw) > 64<<10 {
		t.Errorf("the result has %d bytes, %v", len(raw), err)
	}
	if len(r.Results) < 20 {
		t.Errorf("%d results", len(r.Results))
	}
}

// Queries that cannot be searched are errors; all others are only words.
func TestQueries(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.md": "apple"})
	f.open()
	for query, fails := range map[string]bool{
		"": true, " ,.-": true, strings.Repeat("a", 1001): true,
		"+apple -pear \"x": false, "apple*": false, "\x00apple\xff": false, "the": false, strings.Repeat("w ", 500): false,
	} {
		if _, err := f.tool.Search(t.Context(), query, 0); (err != nil) != fails {
			t.Errorf("Search(%.20q) = %v, fails: %v", query, err, fails)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.tool.Search(ctx, "apple", 1); err == nil {
		t.Error("Search() of a canceled call is no error")
	}
}

// slow is a source that waits in the middle.
type slow struct {
	searchtool.Source
	after   int
	waiting chan struct{}
	go_     chan struct{}
}

func (s *slow) Read(ctx context.Context, path string, limit int64) ([]byte, string, error) {
	if s.after--; s.after < 0 {
		select {
		case s.waiting <- struct{}{}:
		default:
		}
		select {
		case <-s.go_:
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
	}
	return s.Source.Read(ctx, path, limit)
}

// A search during the first scan says how far it is, and Close does not wait for it.
func TestFirstScan(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.md": "apple", "b.md": "banana", "c.md": "cherry"})
	source := &slow{Source: f.config.Source, after: 2, waiting: make(chan struct{}, 1), go_: make(chan struct{})}
	f.config.Source, f.config.Wait = source, time.Millisecond
	f.open()
	f.tool.Start()
	<-source.waiting
	if r := f.search("cherry"); len(r.Results) != 0 || !strings.Contains(r.Note, "of 3 documents have been looked at") {
		t.Errorf("Search() = %v, %q", places(r), r.Note)
	}
	began := time.Now()
	f.close()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("Close() took %v", took)
	}
	close(source.go_)
	f.config.Wait = time.Minute
	f.open()
	f.find("cherry", "c.md:1")
}

// Several folders are told apart by their names, and a folder that is missing is an error.
func TestFolders(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"docs/a.md": "apple", "wiki/a.md": "apple pie", "wiki/b.rst": "apple"})
	source := &searchtool.Folders{Paths: []string{filepath.Join(f.folder, "docs"), filepath.Join(f.folder, "wiki")}, Extensions: []string{"md", "RST"}}
	f.config.Source = source
	got := places(f.search("apple"))
	slices.Sort(got)
	if want := []string{"docs/a.md:1", "wiki/a.md:1", "wiki/b.rst:1"}; !slices.Equal(got, want) {
		t.Errorf("Search() = %q, want %q", got, want)
	}
	if _, _, err := source.Read(t.Context(), "docs/../wiki/a.md", 100); !errors.Is(err, fs.ErrNotExist) && err == nil {
		t.Errorf("Read() of a path with .. = %v", err)
	}
	source.Paths = append(source.Paths, filepath.Join(f.folder, "gone"))
	if err := source.Check(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Check() = %v", err)
	}
}

// A file that a symbolic link replaces between the scan and the reading is not read.
func TestSwappedFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]string{"a.md": "apple", "b/c.md": "cherry"})
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "c.md"), []byte("topsecret"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(
		os.Remove(filepath.Join(f.folder, "a.md")), os.Symlink(filepath.Join(outside, "c.md"), filepath.Join(f.folder, "a.md")),
		os.RemoveAll(filepath.Join(f.folder, "b")), os.Symlink(outside, filepath.Join(f.folder, "b")),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.md", "b/c.md", "../" + filepath.Base(outside) + "/c.md", filepath.Join(outside, "c.md")} {
		if content, _, err := f.config.Source.Read(t.Context(), name, 100); err == nil {
			t.Errorf("Read(%s) = %q", name, content)
		}
	}
}

// Rank finds the entries of a memory, with their metadata and the line.
func TestRank(t *testing.T) {
	t.Parallel()
	got, err := searchtool.Rank(t.Context(), "harbor invoices", []agent.MemoryResult{
		{Content: "the weather", Author: "user"},
		{Content: "\x00\xff" + strings.Repeat("filler text\n", 200) + "an invoice of the harbor", Author: "tool", Metadata: map[string]any{"task": "t1"}},
		{Content: "a harbor", Author: "agent"},
		{},
	})
	if err != nil || len(got) != 2 || got[0].Author != "tool" || got[0].Metadata["task"] != "t1" || got[1].Author != "agent" || got[0].Score <= got[1].Score {
		t.Errorf("Rank() = %+v, %v", got, err)
	}
	for query, entries := range map[string][]agent.MemoryResult{"": {{Content: "a"}}, "a": nil, "zzz": {{Content: "a"}}} {
		if got, err := searchtool.Rank(t.Context(), query, entries); err != nil || len(got) != 0 {
			t.Errorf("Rank(%q) = %v, %v", query, got, err)
		}
	}
}
