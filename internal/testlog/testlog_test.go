package testlog_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"a2a-server/internal/testlog"
)

// recorder stands for a test, and ends when it is told to.
type recorder struct {
	testing.TB
	ends []func()
	said []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.ends = append(r.ends, f) }
func (r *recorder) Log(args ...any)  { r.said = append(r.said, fmt.Sprint(args...)) }

func (r *recorder) end() {
	for i := len(r.ends) - 1; i >= 0; i-- {
		r.ends[i]()
	}
}

// A line is in the log of the test while it runs and while it cleans up, and after that
// nowhere.
func TestNew(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	w := testlog.New(r)
	say := func(line string) {
		if n, err := io.WriteString(w, line+"\n"); n != len(line)+1 || err != nil {
			t.Errorf("Write(%q) = %d, %v", line, n, err)
		}
	}
	r.Cleanup(func() { say("while it cleans up") })
	say("while it runs")
	r.end()
	say("too late")
	if got, want := strings.Join(r.said, ", "), "while it runs, while it cleans up"; got != want {
		t.Errorf("the test logged %q, want %q", got, want)
	}
}
