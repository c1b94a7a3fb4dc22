package searchtool_test

import (
	"os"
	"path/filepath"
	"testing"

	"a2a-server/tool/searchtool"
)

// A file that became a symbolic link after it was listed is not read, and neither is a folder.
func TestLinkAfterListing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, ".private"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, ".private", "keys.md"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &searchtool.Folders{Paths: []string{folder}}
	for name, target := range map[string]string{"a.md": ".private/keys.md", "notes": ".private"} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.md", "notes/keys.md"} {
		if content, _, err := f.Read(t.Context(), name, 100); err == nil {
			t.Errorf("Read(%s) = %q through a symbolic link", name, content)
		}
	}
}
