package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"a2a-server/task/engine"
)

const (
	parkedTasks = 1_000_000
	fillLimit   = 10 * time.Minute
)

// BenchmarkParked fills a file with parked tasks and measures what they cost a
// server: until it serves after a start with none of the file in memory, while it
// runs, and when they are read at random. Go takes files in the order of their names,
// and this one must come last: removing a file of several GiB keeps the disk busy, and
// every commit that is measured meanwhile waits for it.
func BenchmarkParked(b *testing.B) {
	want := parkedTasks
	if s := os.Getenv("BENCH_PARKED"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatalf("BENCH_PARKED is %q; a number of tasks is wanted", s)
		}
		want = n
	}
	d := dir(b)
	empty := &parked{what: "an empty store", file: filepath.Join(d, "empty.db")}
	full := &parked{file: filepath.Join(d, "store.db")}
	anon := map[*parked]int64{}

	b.Run("start/empty", func(b *testing.B) { anon[empty] = empty.starts(b) })
	full.fill(b, want)
	full.what = fmt.Sprintf("%d parked tasks", len(full.ids))
	if info, err := os.Stat(full.file); err == nil {
		figures.note("file of "+full.what, "%d MiB, %d bytes a task", info.Size()>>20, info.Size()/int64(len(full.ids)))
	}
	b.Run("start/full", func(b *testing.B) { anon[full] = full.starts(b) })
	if len(full.ids) > 0 && anon[full] > 0 && anon[empty] > 0 {
		figures.note("RssAnon of a parked task", "%.1f bytes (%+.1f MiB for %d tasks)",
			float64(anon[full]-anon[empty])/float64(len(full.ids)), float64(anon[full]-anon[empty])/(1<<20), len(full.ids))
	}
	b.Run("get/conns=64/cold/ours", func(b *testing.B) { full.gets(b, false /* warm */) })
	takeTurns(b, []kind{ours, echoed}, func(k kind) {
		b.Run("get/conns=64/warm/"+string(k), func(b *testing.B) {
			if k == ours {
				full.gets(b, true /* warm */)
			} else {
				full.getsOfEcho(b)
			}
		})
	})
}

// parked is a file with parked tasks.
type parked struct {
	what string
	file string
	ids  []engine.ID
}

// fill adds tasks until there are want, as far as there is time.
func (p *parked) fill(tb testing.TB, want int) {
	tb.Helper()
	if want <= len(p.ids) {
		return
	}
	s := spec{Kind: filler, File: p.file, Tasks: want, IDs: p.file + ".ids", Limit: fillLimit}
	srv := startSpec(tb, s)
	srv.stop()
	did := srv.hello
	raw, err := os.ReadFile(s.IDs)
	if err != nil {
		tb.Fatal(err)
	}
	p.ids = nil
	for id := range slices.Chunk(raw, len(engine.ID{})) {
		p.ids = append(p.ids, engine.ID(id))
	}
	figures.note(fmt.Sprintf("filling the file to %d parked tasks", len(p.ids)), "%.1f s, %.0f tasks/s, %.1f µs CPU each",
		did.Elapsed.Seconds(), float64(did.Filled)/did.Elapsed.Seconds(), did.CPU.Seconds()*1e6/float64(max(1, did.Filled)))
}

// start starts a server on the file, of which nothing is in memory, and returns how
// long it took, from the start of its process, until a read was answered.
func (p *parked) start(b *testing.B) (s *server, c *conn, ready time.Duration) {
	b.Helper()
	if err := evict(p.file); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	s = startSpec(b, spec{Kind: ours, File: p.file})
	c, err := dial(s.addr, runLimit)
	if err != nil {
		b.Fatal(err)
	}
	if err := p.get(c, 0); err != nil {
		b.Fatal(err)
	}
	return s, c, time.Since(began)
}

// get reads a task at random, as request i. Of a file that has none it asks for one
// that is not there.
func (p *parked) get(c *conn, i int) error {
	if len(p.ids) == 0 {
		_, err := c.post(named("GetTask", (engine.ID{}).String()))
		return err
	}
	id := p.ids[rand.IntN(len(p.ids))].String()
	body, err := c.post(named("GetTask", id))
	if err == nil {
		err = checkParked(body, i, id)
	}
	return err
}

// startsEach is how many starts the median is of, at least.
const startsEach = 9

// starts starts servers and returns the RssAnon of the last one, in bytes, when the
// garbage is collected.
func (p *parked) starts(b *testing.B) (anon int64) {
	var booted, ready, loaded []time.Duration
	n := startsEach * b.N
	for range n {
		began := time.Now()
		s, c, took := p.start(b)
		ready, booted = append(ready, took), append(booted, s.hello.Elapsed)
		if _, err := c.post(request("SendMessage", 1, "echo", `{"text":"x"}`, "")); err != nil {
			b.Error(err)
		}
		loaded = append(loaded, time.Since(began))
		fresh, err := s.memory()
		if err != nil {
			b.Error(err)
		}
		s.tell("free")
		m, err := s.memory()
		if err != nil {
			b.Error(err)
		}
		anon = m.anon
		c.close()
		s.stop()
		figures.note("RssAnon, "+p.what, "%.1f MiB; %.1f MiB when the garbage is collected", float64(fresh.anon)/(1<<20), float64(m.anon)/(1<<20))
	}
	b.ReportMetric(0, "ns/op") // a run is several starts, and what is measured begins and ends within one
	b.ReportMetric(median(ready).Seconds()*1e3, "ready-ms")
	b.ReportMetric(median(booted).Seconds()*1e3, "open-ms")
	b.ReportMetric(median(loaded).Seconds()*1e3, "create-ms")
	b.ReportMetric(float64(anon)/(1<<20), "RssAnon-MiB")
	figures.note("start, "+p.what, "first read after %.1f ms (%.1f ms of it from the beginning of main until it listens); first message that makes a task after %.1f ms; median of %d",
		median(ready).Seconds()*1e3, median(booted).Seconds()*1e3, median(loaded).Seconds()*1e3, n)
	return anon
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// getConns is how many connections read tasks.
const getConns = 64

func (p *parked) getsWhat(how string) string {
	return fmt.Sprintf("GetTask, %d connections, %s at random, %s", getConns, p.what, how)
}

const (
	coldFile = "nothing of the file in memory at first"
	warmFile = "the file in the page cache"
)

// gets reads tasks at random, from a server that begins with none of the file in
// memory, or with all of it in the kernel's.
func (p *parked) gets(b *testing.B, warm bool) {
	s, c, _ := p.start(b)
	defer s.stop()
	defer c.close()
	how := coldFile
	if warm {
		how = warmFile
		if err := warmUp(p.file); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	drive(b, s, getConns, b.N, p.get).figure(b, p.getsWhat(how), ours, 1, "req")
}

// getsOfEcho has the bare server answer as often, with what ours said about one task.
func (p *parked) getsOfEcho(b *testing.B) {
	if len(p.ids) == 0 {
		b.Fatal("there is no parked task to answer with")
	}
	id := p.ids[0].String()
	s, c, _ := p.start(b)
	body, err := c.post(named("GetTask", id))
	if err != nil {
		b.Fatal(err)
	}
	bare := startSpec(b, spec{Kind: echoed, Body: string(body)})
	c.close()
	s.stop()
	b.ResetTimer()
	drive(b, bare, getConns, b.N, func(c *conn, i int) error {
		body, err := c.post(named("GetTask", id))
		if err != nil {
			return err
		}
		return checkParked(body, i, id)
	}).figure(b, p.getsWhat(warmFile), echoed, 1, "req")
}

// warmUp reads a file once, so that the kernel has it.
func warmUp(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20))
	return err
}
