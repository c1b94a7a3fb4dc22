package web_test

import (
	"strings"
	"testing"

	"a2a-server/internal/testserver"
	"a2a-server/store/memstore"
	"a2a-server/store/storetest"
)

// A page costs what it shows, whatever waits beside it and however large that is.
func TestPagesReadAPage(t *testing.T) {
	t.Parallel()
	h, err := memstore.New().Handle()
	if err != nil {
		t.Fatal(err)
	}
	counted := &storetest.Counted{Handle: h}
	w := start(t, func(c *testserver.Config) { c.Store = counted })
	id, _ := w.asks("mail", map[string]any{"to": []string{"first"}, "subject": "s", "body": strings.Repeat("x", 115<<10), "urgent": false, "count": 1})
	for range 59 {
		w.asks("mail", map[string]any{"to": []string{"dan"}, "subject": "s", "body": strings.Repeat("x", 115<<10), "urgent": false, "count": 1})
	}
	for path, most := range map[string]int64{
		"/ui/": 3 << 20, "/ui/?mine=1": 3 << 20, "/ui/?order=time": 3 << 20, "/ui/?tool=none": 3 << 20, "/ui/about": 0, "/ui/history": 0, "/ui/approvals/" + id: 4 << 20,
	} {
		counted.Values.Store(0)
		counted.Bytes.Store(0)
		counted.Keys.Store(0)
		w.has(w.get(alice, path), 200, []string{`id="pending">60<`})
		if rows, bytes, keys := counted.Values.Load(), counted.Bytes.Load(), counted.Keys.Load(); rows > 50 || bytes > most || keys > 160 {
			t.Errorf("%s reads %d approvals with %d bytes, and %d keys; want at most 50 with %d, and 160", path, rows, bytes, keys, most)
		}
	}
}
