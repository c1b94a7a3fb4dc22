package output_test

import (
	"strings"
	"testing"

	"a2a-server/task/internal/output"
)

// The id of a job is shown without invisible characters, and is not long.
func TestJobID(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		`{"job":"j-7","at":3}`:     "j-7",
		`{"job":7}`:                "7",
		`"j-7"`:                    "j-7",
		`{"at":3}`:                 `{"at":3}`,
		`[1,2]`:                    "[1,2]",
		`{"job":"\u202ej\u200b7"}`: `\u202ej\u200b7`,
	} {
		if got := output.JobID([]byte(state)); got != want {
			t.Errorf("JobID(%s) = %s, want %s", state, got, want)
		}
	}
	if got := output.JobID([]byte(`"` + strings.Repeat("x", 5000) + `"`)); len(got) > 250 {
		t.Errorf("the id of a job has %d bytes", len(got))
	}
}
