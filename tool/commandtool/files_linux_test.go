package commandtool_test

import (
	"os"
	"testing"

	"a2a-server/tool/commandtool"
)

// Files do not stay open, whether the command is started or not.
func TestFilesAreClosed(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	c := script("exit 0", "{a}", "{b}", "{dash}")
	file := commandtool.Arg{Type: "file", Open: true}
	c.Dir, c.Args = folder(t), map[string]commandtool.Arg{"a": file, "b": file, "dash": {Optional: true}}
	missing := c
	missing.Run = append([]string{"no-such-command"}, c.Run[1:]...)
	calls := func() {
		for _, args := range []map[string]any{{"a": "file", "b": "file"}, {"a": "file", "b": "no"}, {"a": "file", "b": "out"}, {"a": "file", "b": "file", "dash": "-x"}} {
			run(t.Context(), build(t, c), args)
		}
		run(t.Context(), build(t, missing), map[string]any{"a": "file", "b": "file"})
	}
	calls()
	before := count()
	for range 5 {
		calls()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}
