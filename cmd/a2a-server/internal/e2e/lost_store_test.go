package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/internal/testserver"

	a2aserver "a2a-server"
)

// A data folder whose store is missing is refused, unless a new one was asked for. A folder
// that never had one is not: not after a first start that failed before its keys were made.
func TestLostStore(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "other.db")
	for _, store := range []string{"bolt", "bolt:" + elsewhere} {
		c := load(t, map[string]string{"store": store})
		file := filepath.Join(c.Set["data"], "tasks.db")
		if store != "bolt" {
			file = elsewhere
		}
		if err := os.MkdirAll(filepath.Join(c.Set["data"], "keys"), 0o700); err != nil { // all that a crash may leave
			t.Fatal(err)
		}
		opens := func() error {
			s, err := testserver.New(c)
			if err != nil {
				return err
			}
			return s.Close()
		}
		if err := errors.Join(opens(), opens(), os.Remove(file)); err != nil {
			t.Fatal(err)
		}
		err := opens()
		if !errors.Is(err, a2aserver.ErrConfig) {
			t.Fatalf("store %s: New() without its file = %v, want an error of the configuration", store, err)
		}
		for _, want := range []string{c.Set["data"], file + " is missing", "backup", "a2a-server serve --init"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %q, want %q in it", err, want)
			}
		}
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("the refused start has made %s", file)
		}
		c.Set["store"] = "memory"
		if err := opens(); err != nil {
			t.Errorf("store: memory in that folder: %v", err)
		}
		c.Set["store"], c.Init = store, true
		if err := opens(); err != nil {
			t.Errorf("with Init: %v", err)
		}
		if c.Init = false; opens() != nil {
			t.Error("the store that Init made is refused")
		}
	}
}
