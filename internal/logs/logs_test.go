package logs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"a2a-server/internal/logs"
	"a2a-server/internal/visible"
)

// A line of the log hides nothing, whoever wrote it, and means what was meant.
func TestLogHidesNothing(t *testing.T) {
	t.Parallel()
	hidden := "a\u009b\u202e\u00a0\u2028\ufe0f\U000e0100\x00b"
	for _, format := range []string{"json", "console"} {
		var out bytes.Buffer
		log := logs.New("info", format, &out)
		log.Debug().Msg("below the level")
		log.Info().Str("path", hidden).Err(errors.New(hidden)).Msg("hello " + hidden)
		if i := strings.IndexFunc(strings.TrimSuffix(out.String(), "\n"), visible.Invisible); i >= 0 {
			t.Errorf("%s: the log is %q, with something hidden at %d", format, out.String(), i)
		}
		var line struct{ Path, Message string }
		if err := json.Unmarshal(out.Bytes(), &line); format == "json" && (err != nil || line.Path != hidden || line.Message != "hello "+hidden) {
			t.Errorf("the line says %+v, %v", line, err)
		}
	}
}
