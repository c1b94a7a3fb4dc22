package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"a2a-server/internal/app/config"
	"a2a-server/internal/visible"
)

// A line of the log hides nothing, whoever wrote it, and means what was meant.
func TestLogHidesNothing(t *testing.T) {
	t.Parallel()
	hidden := "a\u009b\u202e\u00a0\u2028\ufe0f\U000e0100\x00b"
	for _, format := range []string{"json", "console"} {
		var out bytes.Buffer
		log := newLogger(config.Log{Level: "info", Format: format}, &out)
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

func TestNewLogger(t *testing.T) {
	t.Parallel()
	for format, pattern := range map[string]string{"json": `"message":"hello"`, "console": "WRN hello"} {
		var out bytes.Buffer
		log := newLogger(config.Log{Level: "warn", Format: format}, &out)
		log.Info().Msg("not important")
		log.Warn().Msg("hello")
		if got := out.String(); !strings.Contains(got, pattern) || strings.Contains(got, "important") {
			t.Errorf("%s: the log is %q, want it to have %q", format, got, pattern)
		}
	}
}
