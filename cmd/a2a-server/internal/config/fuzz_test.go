package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"a2a-server/cmd/a2a-server/internal/config"
)

// FuzzLoad loads any bytes as a file: it is valid, and then shown and loaded again it
// is the same, or all that is wrong with it has a place and a text.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/wrong/*.yaml", "testdata/*.yaml", "../../../../docs/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := write(t, string(text))
		c, err := config.Load(config.Source{File: path})
		if err == nil {
			roundTrip(t, c, false)
			return
		}
		var all *config.Error
		if !errors.As(err, &all) || len(all.Problems) == 0 {
			t.Fatalf("Load() = %v, want an *Error with problems", err)
		}
		for _, p := range all.Problems {
			if p.File != path || p.Source != config.File || p.Problem == "" || p.Line < 0 || (p.Line == 0) != (p.Column == 0) {
				t.Errorf("problem without its place: %+v", p)
			}
		}
		if !utf8.ValidString(err.Error()) {
			t.Errorf("the text of the error is not UTF-8: %q", err)
		}
	})
}
