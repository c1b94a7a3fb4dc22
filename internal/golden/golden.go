// Package golden compares the output of a test with a file of the repository: a golden file,
// or a document that is generated from code. Run the test with -update to rewrite the file; a
// failure says so.
//
// A document says which parts of it are generated with a line such as
//
//	<!-- keys: written by go generate ./cmd/a2a-server/internal/config -->
//
// and ends the part with <!-- end -->.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files and generated documents with what the tests make")

// File compares got with a file, and returns the content of the file. With -update it writes the file.
func File(t testing.TB, file, got string) string {
	t.Helper()
	if *update {
		write(t, file, got)
		return got
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(raw), got); diff != "" {
		t.Errorf("%s (-want +got); if that is correct, run the test with -update:\n%s", file, diff)
	}
	return string(raw)
}

// Made returns the content of a file that differs each time it is made. With -update it writes what
// content returns.
func Made(t testing.TB, file string, content func() string) string {
	t.Helper()
	if *update {
		write(t, file, content())
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run the test with -update to write it", err)
	}
	return string(raw)
}

// Section compares got with a generated part of a document. With -update it writes that part.
func Section(t testing.TB, file, name, got string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(raw), "<!-- "+name+": ")
	mark, rest, _ := strings.Cut(rest, "\n")
	_, after, ends := strings.Cut(rest, "<!-- end -->")
	if !begins || !ends {
		t.Fatalf("%s has lost the part %q: write the lines <!-- %s: … --> and <!-- end --> around its place", file, name, name)
	}
	File(t, file, before+"<!-- "+name+": "+mark+"\n"+got+"<!-- end -->"+after)
}

func write(t testing.TB, file, got string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
		t.Fatal(err)
	}
}
