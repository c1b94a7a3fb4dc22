package bench

import (
	"fmt"
	"testing"
)

const tabs = 1000

// tabPaths are those of the program, and of the bare server.
var tabPaths = []string{"/api/v1/events", "/ui/events?of=approvals", "/events"}

// BenchmarkTabs opens the events of the approvals API and of the pages, each time on a
// connection of its own and with an API key, and measures the memory of the program for each of
// them. One may take 1.2 times what it takes in the bare server.
func BenchmarkTabs(b *testing.B) {
	each := map[string][]float64{}
	for range rounds(b) {
		for _, path := range tabPaths {
			b.Run(path[1:], func(b *testing.B) {
				var grown float64
				for range b.N {
					s := tabServer(b, path)
					grown = openTabs(b, s, path)
					s.stop()
				}
				each[path] = append(each[path], grown)
				b.ReportMetric(grown, "KiB/tab")
			})
		}
	}
	bare := middle(each["/events"])
	for _, path := range tabPaths[:2] {
		figures.note("an idle follower of "+path, "%.1f KiB beside %.1f (%.2f)", middle(each[path]), bare, middle(each[path])/bare)
	}
}

// tabServer starts the server of a path: the program, or the bare one.
func tabServer(tb testing.TB, path string) *server {
	tb.Helper()
	if path == "/events" {
		return start(tb, echoed)
	}
	return startWithKeys(tb, "", "alice")
}

// openTabs returns by how many KiB a follower of a path makes the memory of a server grow.
func openTabs(b *testing.B, s *server, path string) float64 {
	b.Helper()
	var all []*conn
	grown := s.grown(func() {
		for range tabs {
			all = append(all, openTab(b, s, path))
		}
	})
	for _, c := range all {
		c.close()
	}
	return grown / tabs
}

// openTab opens a stream and reads its first bytes.
func openTab(tb testing.TB, s *server, path string) *conn {
	tb.Helper()
	c, err := dial(s.addr, runLimit)
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.by(s.keys["alice"]).get(path); err != nil {
		c.close()
		tb.Fatal(err)
	}
	return c
}

// get opens a stream and reads its first bytes.
func (c *conn) get(path string) error {
	if _, err := fmt.Fprintf(c.net, "GET %s HTTP/1.1\r\n%s%s0\r\n\r\n", path, c.credential, c.head); err != nil {
		return err
	}
	length, err := c.header()
	if err == nil && length != -1 {
		err = fmt.Errorf("%s is no stream", path)
	}
	if err == nil {
		_, err = c.chunk()
	}
	return err
}
