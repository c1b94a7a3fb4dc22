package toolset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"a2a-server/cmd/a2a-server/internal/config"
)

// TestSecrets shows what is a secret, and that an error for callers says neither where it
// is nor what it is.
func TestSecrets(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tt := range map[string]struct {
		place config.Secret
		want  string // "": an error
	}{
		"a variable":               {config.Secret{Env: "A"}, "last"},
		"one that is not set":      {config.Secret{Env: "NONE"}, ""},
		"one that is empty":        {config.Secret{Env: "EMPTY"}, ""},
		"a prefix of another":      {config.Secret{Env: "EMPT"}, ""},
		"a file":                   {config.Secret{File: file("file", "S3 cret", 0o600)}, "S3 cret"},
		"with a line break":        {config.Secret{File: file("line", "S3-cret\n", 0o640)}, "S3-cret"},
		"with two":                 {config.Secret{File: file("lines", "S3-cret\r\n\r\n", 0o600)}, "S3-cret\r\n"},
		"readable for everybody":   {config.Secret{File: file("open", "S3-cret", 0o604)}, ""},
		"an empty file":            {config.Secret{File: file("empty", "\n", 0o600)}, ""},
		"the largest":              {config.Secret{File: file("large", strings.Repeat("x", maxSecret), 0o600)}, strings.Repeat("x", maxSecret)},
		"one byte more":            {config.Secret{File: file("larger", strings.Repeat("x", maxSecret+1), 0o600)}, ""},
		"a folder":                 {config.Secret{File: folder}, ""},
		"a file that is not there": {config.Secret{File: filepath.Join(folder, "none")}, ""},
		"a device":                 {config.Secret{File: "/dev/zero"}, ""},
	} {
		s := &secrets{places: map[string]config.Secret{"x": tt.place}, env: []string{"A=first", "EMPTY=", "A=last"}, log: zerolog.Nop()}
		got, err := s.read("x")
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %.20q, %v, want %.20q", name, got, err, tt.want)
		}
		if err != nil && (strings.Contains(err.Error(), folder) || strings.Contains(err.Error(), "S3") || strings.Contains(err.Error(), "NONE")) {
			t.Errorf("%s: the error for callers says too much: %v", name, err)
		}
		if len(s.check()) != map[bool]int{true: 1, false: 0}[err != nil] {
			t.Errorf("%s: the warnings are %v", name, s.check())
		}
	}
}

func TestSecretsInHeaders(t *testing.T) {
	t.Parallel()
	s := &secrets{places: map[string]config.Secret{"a": {Env: "A"}, "odd": {Env: "ODD"}}, env: []string{"A={secret:odd}", "ODD=a\r\nX-Evil: 1"}, log: zerolog.Nop()}
	for template, want := range map[string]string{
		"plain":                       "plain",
		"Bearer {secret:a}":           "Bearer {secret:odd}", // what a secret contains is not a reference
		"{{secret:a}} {{}}":           "{secret:a} {}",
		"{secret:a}{secret:a}":        "{secret:odd}{secret:odd}",
		"{secret:none}":               "",
		"{secret:odd}":                "",
		"{secret:a} and {secret:odd}": "",
	} {
		got, err := s.filled(template)()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s = %q, %v, want %q", template, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "Evil") {
			t.Errorf("%s: the error has the secret: %v", template, err)
		}
	}
}
