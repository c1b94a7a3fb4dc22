package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memory is what a process has of the machine's, in bytes.
type memory struct {
	rss  int64
	peak int64 // of rss, since the process began
	anon int64 // without pages of files
}

// grown returns by how many KiB the server's memory, without garbage, has grown when open
// returns.
func (s *server) grown(open func()) float64 {
	s.tb.Helper()
	anon := func() int64 {
		s.tell("free")
		m, err := s.memory()
		if err != nil {
			s.tb.Fatal(err)
		}
		return m.anon
	}
	before := anon()
	open()
	return float64(anon()-before) / 1024
}

// memory reads the server's. It needs Linux's /proc.
func (s *server) memory() (m memory, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		to := map[string]*int64{"VmRSS": &m.rss, "VmHWM": &m.peak, "RssAnon": &m.anon}[name]
		if to == nil {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return m, fmt.Errorf("read %s of process %d: %w", name, s.pid, err)
		}
		*to = kib << 10
	}
	return m, nil
}
