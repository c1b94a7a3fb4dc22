package bench

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// idleTime is how long idle connections are measured: a multiple of each beat.
const idleTime = 30 * time.Second

// idle is a server whose clients wait, with a beat between two writes to each.
type idle struct {
	name string
	beat time.Duration
	cpu  []float64 // ms in each second, of each round
}

// measure opens connections to a server of its own, and measures its processor time while they
// are idle. finish has them end and checks what they got.
func (i *idle) measure(b *testing.B, open func(*server) (finish func() error, err error)) {
	b.Run(i.name, func(b *testing.B) {
		for range b.N {
			s := startSpec(b, spec{Kind: ours, File: filepath.Join(dir(b), "store.db"), Beat: i.beat})
			finish, err := open(s)
			if err != nil {
				b.Fatal(err)
			}
			<-time.After(2 * time.Second) // what the requests have left to do
			used := s.measure(b, func() { <-time.After(idleTime) })
			if err := finish(); err != nil {
				b.Fatal(err)
			}
			s.stop()
			i.cpu = append(i.cpu, used.Seconds()*1e3/idleTime.Seconds())
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(middle(i.cpu), "cpu-ms/s")
	})
}

// compareIdle measures beats in turn, and notes what they cost beside the first.
func compareIdle(b *testing.B, what string, open func(*server) (func() error, error), beats ...*idle) {
	for range rounds(b) {
		for _, i := range beats {
			i.measure(b, open)
		}
	}
	for _, i := range beats {
		if len(i.cpu) > 0 && len(beats[0].cpu) > 0 { // unless -bench left one out
			figures.note(what+", "+i.name, "%.1f ms CPU a second beside %.1f with %s", middle(i.cpu), middle(beats[0].cpu), beats[0].name)
		}
	}
}

// BenchmarkIdleStreams has 5,000 readers subscribe to a task that waits.
func BenchmarkIdleStreams(b *testing.B) {
	w := crowd{subscribers: 5000, chunks: 1}
	compareIdle(b, fmt.Sprintf("%d idle streams", w.subscribers), func(s *server) (func() error, error) {
		f, err := w.gather(s)
		if err != nil {
			return nil, err
		}
		return func() error {
			defer f.close()
			s.tell("release")
			return f.follow()
		}, nil
	}, &idle{name: "a beat every 15 s", beat: 15 * time.Second}, &idle{name: "a beat every 3 s", beat: 3 * time.Second})
}

// BenchmarkWaitingSends has 2,500 messages wait for the same task.
func BenchmarkWaitingSends(b *testing.B) {
	const sends = 2500
	compareIdle(b, fmt.Sprintf("%d sends that wait", sends), func(s *server) (func() error, error) {
		body := request("SendMessage", 1, "burst", `{"n":1}`, "") // sent again, it waits for the task of the first
		conns := make([]*conn, sends)
		closeAll := func() {
			for _, c := range conns {
				if c != nil {
					c.close()
				}
			}
		}
		for i := range conns {
			var err error
			if conns[i], err = dial(s.addr, runLimit); err == nil {
				err = conns[i].send(body)
			}
			if err != nil {
				closeAll()
				return nil, err
			}
		}
		return func() error {
			defer closeAll()
			s.tell("release")
			var all error
			for _, c := range conns {
				all = errors.Join(all, c.completes())
			}
			return all
		}, nil
	}, &idle{name: "no beat", beat: time.Hour}, &idle{name: "a beat every 3 s", beat: 3 * time.Second})
}

// completes reads the response to a message, which has to be a task that has completed.
func (c *conn) completes() error {
	length, err := c.header()
	if err != nil {
		return err
	}
	c.body = c.body[:0]
	if length >= 0 {
		err = c.more(length)
	}
	for n := -length; n > 0 && err == nil; {
		n, err = c.chunk()
	}
	if err == nil && !bytes.Contains(c.body, completed) {
		err = fmt.Errorf("the response is no completed task: %s", c.body)
	}
	return err
}
