package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// recorder is a test that fails without ending the one that watches it.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// said returns what a check says to the test that runs it.
func said(t *testing.T, check func(testing.TB)) string {
	t.Helper()
	r, done := &recorder{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		check(r)
	}()
	<-done
	return r.said
}

// A difference shows both values and what to do; so does a file that is not there.
func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.md")
	const text = "top\n<!-- keys: written by go generate . -->\nold\n<!-- end -->\nbottom\n"
	write(t, file, text)
	for _, tc := range []struct {
		name  string
		check func(testing.TB)
		want  []string
	}{
		{"equal", func(t testing.TB) { File(t, file, text) }, nil},
		{"equal part", func(t testing.TB) { Section(t, file, "keys", "old\n") }, nil},
		{"another", func(t testing.TB) { File(t, file, "new") }, []string{"a.md", "-update", "new", "old"}},
		{"another part", func(t testing.TB) { Section(t, file, "keys", "new\n") }, []string{"a.md", "-update", "new", "old"}},
		{"no mark", func(t testing.TB) { Section(t, file, "gates", "new") }, []string{"a.md", `"gates"`, "<!-- end -->"}},
		{"no file", func(t testing.TB) { File(t, file+".no", "new") }, []string{"a.md.no", "-update"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := said(t, tc.check)
			if len(tc.want) == 0 && got != "" {
				t.Errorf("it says %q, want nothing", got)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("it says %q, want it to name %q", got, want)
				}
			}
			if raw, err := os.ReadFile(file); string(raw) != text || err != nil {
				t.Errorf("the file is %q, %v, want it as it was", raw, err)
			}
		})
	}
}
