package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"a2a-server/store/boltstore"
	"a2a-server/tool"
	"a2a-server/tool/commandtool"
)

// printVariable makes this program the one that the tool print runs: it holds how many
// lines to print, how many bytes each has, and how many microseconds there are between
// two.
const printVariable = "BENCH_PRINT"

// stampSize is how many digits the time at the beginning of a line has.
const stampSize = 19

// printLines prints lines that begin with the time.
func printLines(w io.Writer, how string) error {
	var n, size, pace int
	if _, err := fmt.Sscan(how, &n, &size, &pace); err != nil {
		return err
	}
	next := time.Now()
	for range n {
		for now := time.Now(); pace > 0 && now.Before(next); now = time.Now() {
			time.Sleep(next.Sub(now))
		}
		next = next.Add(time.Duration(pace) * time.Microsecond)
		line := strconv.FormatInt(time.Now().UnixNano(), 10) + "\n"
		if size < len(line) {
			line = line[:size-1] + "\n"
		} else {
			line = line[:len(line)-1] + strings.Repeat("x", size-len(line)) + "\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

// newPrint makes the tool print, a command: this program.
func newPrint() (tool.Tool, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	no, number := false, map[string]any{"type": "integer"}
	args := map[string]commandtool.Arg{}
	for _, name := range []string{"n", "size", "pace"} {
		if args[name], err = commandtool.ArgFrom(number); err != nil {
			return nil, err
		}
	}
	return commandtool.New(commandtool.Config{
		Name: "print", Description: "prints lines", Approve: &no, Args: args, Output: commandtool.Output{Max: 8 << 20},
		Run: []string{"/usr/bin/env", printVariable + "={n} {size} {pace}", program},
	})
}

// commits are the times that commits took.
type commits struct {
	mu    sync.Mutex
	began time.Time
	took  []int64
}

// at is called by the store.
func (c *commits) at(point string) {
	switch point {
	case boltstore.PointTaken:
		c.began = time.Now() // by the one writer
	case boltstore.PointCommitted:
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.took) < 1<<20 {
			c.took = append(c.took, int64(time.Since(c.began)))
		}
	}
}

// sorted returns the times since it was called last.
func (c *commits) sorted() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	took := c.took
	c.took = nil
	slices.Sort(took)
	return took
}

// printed follows commands, and measures how long each line was on its way.
type printed struct {
	lines  int
	pieces int
	late   []time.Duration
}

// frame counts the lines of a frame without decoding its JSON: the commands, the server
// and this program share the processor, and a line that waits for us would count as late.
func (p *printed) frame(frame []byte) error {
	now := time.Now().UnixNano()
	for {
		_, text, found := bytes.Cut(frame, textKey)
		if !found {
			return nil
		}
		if text, frame, found = bytes.Cut(text, []byte{'"'}); !found { // no line has one
			return fmt.Errorf("a text does not end: %s", text)
		}
		if len(text) > 0 {
			p.pieces++
		}
		for line := range bytes.SplitAfterSeq(text, []byte(`\n`)) {
			if len(line) > 0 {
				p.lines++
			}
			if len(line) <= stampSize {
				continue
			}
			at := int64(0)
			for _, d := range line[:stampSize] {
				if d < '0' || d > '9' {
					return fmt.Errorf("line %q does not begin with a time", line)
				}
				at = 10*at + int64(d-'0')
			}
			p.late = append(p.late, time.Duration(now-at))
		}
	}
}

// BenchmarkCommand has 16 clients that each run a command, which prints lines, and read
// them while they come. It compares how long a line is on its way, at the median, with
// the median commit of the same run.
func BenchmarkCommand(b *testing.B) {
	const conns = 16
	for _, c := range []struct {
		name          string
		n, size, pace int
	}{
		{"10000 lines of 100 bytes, 2 ms apart", 10_000, 100, 2000},
		{"10000 lines of 100 bytes, at once", 10_000, 100, 0},
		{"10000 lines of 10 bytes, at once", 10_000, 10, 0},
	} {
		b.Run(strings.ReplaceAll(c.name, " ", "_"), func(b *testing.B) {
			s := start(b, ours)
			before, err := s.memory()
			if err != nil {
				b.Fatal(err)
			}
			s.tell("commits")
			var mu sync.Mutex
			all := printed{}
			most := before.anon
			l := drive(b, s, conns, conns*b.N, func(conn *conn, i int) error {
				args := fmt.Sprintf(`{"n":%d,"size":%d,"pace":%d}`, c.n, c.size, c.pace)
				if err := conn.open(request("SendStreamingMessage", i, "print", args, "")); err != nil {
					return err
				}
				var p printed
				err := conn.frames(p.frame)
				if err == nil && p.lines != c.n {
					err = fmt.Errorf("%d lines came, want %d", p.lines, c.n)
				}
				now, wrong := s.memory()
				mu.Lock()
				defer mu.Unlock()
				all.lines, all.pieces, all.late = all.lines+p.lines, all.pieces+p.pieces, append(all.late, p.late...)
				most = max(most, now.anon)
				if err == nil {
					err = wrong
				}
				return err
			})
			took := s.tell("commits").Commits
			slices.Sort(all.late)
			commit := time.Duration(took[len(took)/2])
			b.ReportMetric(float64(all.pieces)/float64(l.n), "pieces/stream")
			b.ReportMetric(float64(len(took))/float64(l.n), "commits/stream")
			b.ReportMetric(float64(most-before.anon)/(1<<20), "MiB")
			b.ReportMetric(float64(commit.Microseconds()), "commit-µs")
			if len(all.late) > 0 {
				late := all.late[len(all.late)/2]
				b.ReportMetric(float64(late.Microseconds()), "late-µs")
				b.ReportMetric(float64(late)/float64(commit), "late-commits")
			}
		})
	}
}
