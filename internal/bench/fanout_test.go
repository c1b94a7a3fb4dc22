package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// crowd is many subscribers of one task, one of which may never read.
type crowd struct {
	subscribers int
	chunks      int
	pace        int // milliseconds between two chunks
	stalled     bool
}

// begin makes the task whose chunks wait to be released, and returns its id.
func (w crowd) begin(s *server) (string, error) {
	c, err := dial(s.addr, runLimit)
	if err != nil {
		return "", err
	}
	defer c.close()
	args := fmt.Sprintf(`{"n":%d,"pace":%d}`, w.chunks, w.pace)
	body, err := c.post(request("SendMessage", 1, "burst", args, `,"configuration":{"returnImmediately":true}`))
	if err != nil {
		return "", err
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || a.Result.Task.ID == "" {
		return "", fmt.Errorf("the answer is no task: %s", body)
	}
	return a.Result.Task.ID, nil
}

// subscribe opens a stream of the task and reads its first frame, so that the server
// is known to follow.
func subscribe(s *server, task string) (*conn, error) {
	c, err := dial(s.addr, runLimit)
	if err != nil {
		return nil, err
	}
	if err = c.open(named("SubscribeToTask", task)); err == nil {
		err = c.frames(func([]byte) error { return errEnough })
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// stall subscribes with a small receive buffer and never reads.
func stall(s *server, task string) (net.Conn, error) {
	c, err := dial(s.addr, runLimit)
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.net.(*net.TCPConn); ok {
		err = tcp.SetReadBuffer(4 << 10)
	}
	if err = errors.Join(err, c.send(named("SubscribeToTask", task))); err != nil {
		c.close()
		return nil, err
	}
	return c.net, nil
}

// followers are the subscribers of one task, before its chunks flow.
type followers struct {
	chunks  int
	readers []*conn
	stalled net.Conn // nil: there is none
}

// gather makes a task and has everybody subscribe to it.
func (w crowd) gather(s *server) (f *followers, err error) {
	task, err := w.begin(s)
	if err != nil {
		return nil, err
	}
	f = &followers{chunks: w.chunks, readers: make([]*conn, w.subscribers)}
	errs := make([]error, w.subscribers)
	const parts = 16
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			for i := part; i < len(f.readers); i += parts {
				f.readers[i], errs[i] = subscribe(s, task)
			}
		})
	}
	wg.Wait()
	err = errors.Join(errs...)
	if err == nil && w.stalled {
		f.stalled, err = stall(s, task)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// follow reads until the last one has seen the end, and says what was lost, doubled
// or out of order.
func (f *followers) follow() error {
	errs := make([]error, len(f.readers))
	var wg sync.WaitGroup
	for i, c := range f.readers {
		wg.Go(func() {
			seen := follower{want: f.chunks, numbers: true, whole: i%fullCheck == 0}
			errs[i] = errors.Join(c.frames(seen.frame), seen.end())
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (f *followers) close() {
	for _, c := range f.readers {
		if c != nil {
			c.close()
		}
	}
	if f.stalled != nil {
		_ = f.stalled.Close()
	}
}

// run gathers the crowd and measures from when its chunks may flow.
func (w crowd) run(b *testing.B, s *server, l *load) {
	b.Helper()
	b.StopTimer()
	f, err := w.gather(s)
	if err != nil {
		b.Fatal(err)
	}
	defer f.close()
	b.StartTimer()
	l.serverCPU += s.measure(b, func() {
		used, began := cpu(), time.Now()
		s.tell("release")
		err = f.follow()
		l.elapsed += time.Since(began)
		l.ownCPU += cpu() - used
	})
	l.n++
	if err != nil {
		b.Fatal(err)
	}
}

// bench measures the crowd on a server of its own, and how its memory grew.
func (w crowd) bench(b *testing.B, what string, k kind) {
	s := start(b, k)
	before, err := s.memory()
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	l := &load{}
	for range b.N {
		w.run(b, s, l)
	}
	after, err := s.memory()
	if err != nil {
		b.Fatal(err)
	}
	l.figure(b, what, k, w.subscribers*w.chunks, "event")
	b.ReportMetric(float64(after.peak-before.rss)/(1<<20), "growth-MiB")
	figures.note("memory, "+what+", "+string(k), "from %d to at most %d MiB", before.rss>>20, after.peak>>20)
}

// BenchmarkFanout has many subscribers follow one task. An operation is one chunk
// that one of them has got; each must get all, once and in order. The bare server
// keeps a number and a wake-up, and nothing else.
func BenchmarkFanout(b *testing.B) {
	for _, c := range []struct {
		name string
		w    crowd
	}{
		{"1,000 subscribers × 200 chunks, burst", crowd{subscribers: 1000, chunks: 200}},
		{"1,000 subscribers × 200 chunks, burst, one more never reads", crowd{subscribers: 1000, chunks: 200, stalled: true}},
		{"1,000 subscribers × 200 chunks, one chunk per ms", crowd{subscribers: 1000, chunks: 200, pace: 1}},
	} {
		takeTurns(b, []kind{ours, echoed}, func(k kind) {
			b.Run(c.name+"/"+string(k), func(b *testing.B) { c.w.bench(b, c.name, k) })
		})
	}
}
