// Package golden compares the output of a test with a file of the repository: a golden file,
// or a document that is generated from code. Run the test with -update to rewrite the file; a
// failure says so.
//
// A document says which parts of it are generated with a line such as
//
//	<!-- keys: written by go generate ./internal/app/config -->
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

// File compares got with a file. With -update it writes the file.
func File(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		write(t, file, got)
		return
	}
	same(t, file, got, "if that is correct, run the test with -update")
}

// Kept compares got with a file in a format that is on users' disks, and returns the content
// of the file. With -update it writes a missing file, and changes none.
func Kept(t testing.TB, file, got string) string {
	t.Helper()
	if _, err := os.Stat(file); *update && os.IsNotExist(err) {
		write(t, file, got)
	}
	return same(t, file, got, "data in the old form exists: give the new form a version of its own, and run the test with -update once")
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

// same compares got with a file and returns the content of the file.
func same(t testing.TB, file, got, next string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run the test with -update to write it", err)
	}
	if diff := cmp.Diff(string(raw), got); diff != "" {
		t.Errorf("%s (-want +got); %s:\n%s", file, next, diff)
	}
	return string(raw)
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
