package searchtool_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"a2a-server/tool/searchtool"
)

// vocabulary are words that a search may look for; early words are frequent.
func vocabulary() []string {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]string, 20_000)
	for i := range all {
		for range 3 + r.IntN(3) {
			all[i] += string("bcdfghklmnprst"[r.IntN(14)]) + string("aeiou"[r.IntN(5)])
		}
	}
	return all
}

// library writes files, 100 in a folder.
func library(t testing.TB, files int) (folder string) {
	folder = t.TempDir()
	words := vocabulary()
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.2, 8, uint64(len(words)-1))
	for i := range files {
		path := filepath.Join(folder, fmt.Sprintf("%04d", i/100), fmt.Sprintf("%06d.md", i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n\n", words[zipf.Uint64()])
		for range 20 {
			for range 12 {
				b.WriteString(words[zipf.Uint64()] + " ")
			}
			b.WriteString("\n")
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// BenchmarkSearch searches 100,000 files of 2 KiB. first-s is the time of the first scan, open-s
// that of opening the index again and scanning, and ms the median of a search for three words
// among the 2,000 most frequent.
func BenchmarkSearch(b *testing.B) {
	const files = 100_000
	folder, data := library(b, files), b.TempDir()
	config := searchtool.Config{
		Name: "docs", Description: "Searches.", Source: &searchtool.Folders{Paths: []string{folder}}, Folder: data,
		Wait: time.Hour, Refresh: time.Hour,
	}.WithLimits(0, 0, 1)
	words := vocabulary()
	open := func() (*searchtool.Tool, time.Duration) {
		t, err := searchtool.New(config)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if r, err := t.Search(b.Context(), words[0], 1); err != nil || r.Documents != files {
			b.Fatal(r, err)
		}
		return t, time.Since(began)
	}
	t, first := open()
	if err := t.Close(); err != nil {
		b.Fatal(err)
	}
	t, again := open()
	defer func() { _ = t.Close() }()
	r := rand.New(rand.NewPCG(5, 6))
	var took []time.Duration
	for b.Loop() {
		query := fmt.Sprintf("%s %s %s", words[r.IntN(2000)], words[r.IntN(2000)], words[r.IntN(2000)])
		began := time.Now()
		if _, err := t.Search(b.Context(), query, 10); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(first.Seconds(), "first-s")
	b.ReportMetric(again.Seconds(), "open-s")
}
