package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/cmd/a2a-server/internal/app"
)

// Contexts that other users may have written are refused, and their command does not run.
func TestContextsOfOthers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, folder fs.FileMode
		refused      bool
	}{
		"own":                       {0o644, 0o755, false},
		"the group writes":          {0o664, 0o755, true},
		"everybody writes":          {0o646, 0o755, true},
		"everybody replaces it":     {0o600, 0o777, true},
		"a folder like /tmp":        {0o600, 0o777 | fs.ModeSticky, false},
		"the group may read it all": {0o640, 0o750, false},
	} {
		home := t.TempDir()
		folder, ran := filepath.Join(home, "a2a-server"), filepath.Join(home, "ran")
		file := filepath.Join(folder, "contexts.yaml")
		text := "current: x\ncontexts: {x: {url: 'http://127.0.0.1:1', token_command: [touch, " + ran + "]}}\n"
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for path, mode := range map[string]fs.FileMode{file: tc.file, folder: tc.folder} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		var out, problems strings.Builder
		code := app.Run(t.Context(), []string{"approvals", "list"}, append(environment(), "XDG_CONFIG_HOME="+home), nil, &out, &problems)
		_, err := os.Stat(ran)
		if refused := strings.Contains(problems.String(), "run chmod"); refused != tc.refused || refused != (err != nil) || code == 0 {
			t.Errorf("%s: refused %t, command has run %t, code %d: %s", name, refused, err == nil, code, problems.String())
		}
	}
}
