package commandtool

var (
	Glob  = glob
	Split = split
)

// Written is what one write, or one piece, has.
type Written struct {
	Stream int
	Text   string
	Take   bool // of a write: what is pending is then taken
}

// Collect plays writes to a collector and returns what was taken.
func Collect(lines bool, budget int, writes []Written) (taken []Written, dropped int64) {
	c := newCollector(lines, budget)
	take := func() {
		pending, _, _ := c.take(1)
		for _, s := range pending {
			taken = append(taken, Written{Stream: s.stream, Text: string(s.text)})
		}
	}
	for _, w := range writes {
		if c.size >= maxPending/2 {
			take()
		}
		c.add(w.Stream, []byte(w.Text))
		if w.Take {
			take()
		}
	}
	c.end(stdout)
	c.end(stderr)
	take()
	return taken, c.dropped
}
