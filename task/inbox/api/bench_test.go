package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/testserver"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/task/internal/record"
)

// fill makes n pending approvals of tasks with up to 50 calls each.
func (w *world) fill(n int) (pending []approval.Approval) {
	w.t.Helper()
	as := w.As(alice)
	for len(pending) < n {
		var list []any
		for i := range min(50, n-len(pending)) {
			list = append(list, call("ship", float64(i)))
		}
		pending = append(pending, as.Pending(as.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"calls": list}))))...)
	}
	return pending
}

// reject rejects approvals, one decision for each task.
func (w *world) reject(all []approval.Approval) {
	w.t.Helper()
	byTask := map[string][]approval.Decision{}
	for _, a := range all {
		byTask[a.Task] = append(byTask[a.Task], approval.Decision{ID: a.ID, Digest: a.Digest, Type: approval.Reject})
	}
	for _, answers := range byTask {
		if _, err := w.Approvals().DecideAll(w.t.Context(), olga, answers); err != nil {
			w.t.Fatal(err)
		}
	}
}

// settled is how many settled approvals [BenchmarkList] has; BENCH_SETTLED sets another number.
const settled = 1_000_000

// settle writes n settled approvals to a store, in tasks of 1,000. They are copies of the one that
// is there, each with its audit and a time of its own.
func settle(b *testing.B, h store.Handle, n int) {
	b.Helper()
	rows, err := h.Rows(b.Context(), store.System(), store.RowQuery{Kind: record.KindApproval, Index: record.IndexSettled, Limit: 1})
	if err != nil || len(rows.Rows) != 1 {
		b.Fatalf("%v: %d settled approvals", err, len(rows.Rows))
	}
	like := rows.Rows[0]
	log, err := h.Read(b.Context(), store.System(), like.Task, store.From{}, store.Limit{})
	if err != nil {
		b.Fatal(err)
	}
	entries, err := h.Audit(b.Context(), 0, 2)
	if err != nil {
		b.Fatal(err)
	}
	prefix := func(index string, prefix []byte, i int) store.IndexKey {
		return store.IndexKey{Index: index, Key: fmt.Appendf(prefix, "%016x", ^uint64(0)-uint64(log.Header.StatusTime)+uint64(i))}
	}
	var queued []*store.Commit
	for from := 0; from < n; from += 1000 {
		id := store.NewTaskID()
		one := &store.Batch{
			Scope: log.Header.Owner, Task: id, Rev: new(uint64),
			Change: store.Change{Context: "settled", Status: &store.Status{State: log.Header.State, Time: log.Header.StatusTime}, Phase: store.Final},
		}
		for i := from; i < min(n, from+1000); i++ {
			key := fmt.Appendf(nil, "%s.%d", id, i)
			value := bytes.ReplaceAll(bytes.ReplaceAll(like.Value, like.Key, key), []byte(like.Task.String()), []byte(id.String()))
			one.Rows = append(one.Rows, store.RowChange{Kind: record.KindApproval, Key: key, Value: value, Index: []store.IndexKey{
				prefix(record.IndexSettled, record.PendingPrefix(alice.Tenant), i), prefix(record.IndexTool, record.ToolPrefix(alice.Tenant, "ship"), i),
				prefix(record.IndexDigest, record.DigestPrefix(alice.Tenant, "ship", "none"), i),
			}})
			one.Audit = append(one.Audit, entries[0].Data, entries[1].Data)
		}
		queued = append(queued, h.Append(b.Context(), one))
		if len(queued) == 32 || from+1000 >= n {
			for _, c := range queued {
				if _, err := c.Wait(); err != nil {
					b.Fatal(err)
				}
			}
			queued = queued[:0]
		}
	}
}

// raw sends a request without validating the exchange, and returns the answer.
func (w *world) raw(r *http.Request) []byte {
	w.t.Helper()
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 {
		w.t.Fatalf("%s: %s, %v", r.URL, resp.Status, err)
	}
	return body
}

// zipped returns how many bytes a body has when it is compressed.
func zipped(b *testing.B, body []byte) int {
	b.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(body); err != nil {
		b.Fatal(err)
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Len()
}

// cpu returns the processor time of this process: of the server and its client.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The first pages of 1,000 pending approvals beside a million settled ones, on the disk.
func BenchmarkList(b *testing.B) {
	n := settled
	if s := os.Getenv("BENCH_SETTLED"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatalf("BENCH_SETTLED is %q; a number is wanted", s)
		}
	}
	db, err := boltstore.Options{}.Open(filepath.Join(b.TempDir(), "store.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	h, err := db.Handle()
	if err != nil {
		b.Fatal(err)
	}
	w := newWorld(b, func(c *testserver.Config) { c.Store = h })
	w.reject(w.fill(1))
	settle(b, h, n)
	w.fill(1000)
	const list = "/api/v1/approvals?"
	for _, path := range []string{
		list, list + "limit=200", list + "limit=200&order=deadline", list + "mine=true", list + "gate=ship&tool=ship", list + "state=settled",
		list + "state=rejected&tool=ship&limit=200", "/ui/", "/ui/?order=time",
	} {
		b.Run(path[1:], func(b *testing.B) {
			r := w.request(olga, http.MethodGet, "", nil)
			if r.URL, err = r.URL.Parse(path); err != nil {
				b.Fatal(err)
			}
			var body []byte
			before := cpu(b)
			for b.Loop() {
				body = w.raw(r)
			}
			b.ReportMetric((cpu(b)-before).Seconds()*1e3/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(zipped(b, body)), "gzip-B")
		})
	}
	transport.CloseIdleConnections()
}

// broadcaster is a handler of events with nothing but its followers.
type broadcaster struct {
	mu        sync.Mutex
	followers map[chan []byte]struct{}
}

func (s *broadcaster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	next := make(chan []byte, 1000)
	s.mu.Lock()
	s.followers[next] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.followers, next)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	control, frame := http.NewResponseController(w), []byte("event: begin\n\n")
	for {
		if _, err := w.Write(frame); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case frame = <-next:
		}
	}
}

func (s *broadcaster) send(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for next := range s.followers {
		next <- frame
	}
}

// resolved is in the event of a decision.
const resolved = `"what":"resolved"`

// listen follows events until leave is called, and counts those of decisions.
func (w *world) listen(r *http.Request, got *atomic.Int64) (leave func()) {
	w.t.Helper()
	own := &http.Transport{}
	resp, err := own.RoundTrip(r) //nolint:bodyclose // leave closes it
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() {
		w.t.Fatalf("%s: %s", r.URL, resp.Status)
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		for lines.Scan() {
			if bytes.Contains(lines.Bytes(), []byte(resolved)) {
				got.Add(1)
			}
		}
	})
	return func() {
		_ = resp.Body.Close()
		ended.Wait()
		own.CloseIdleConnections()
	}
}

// Decisions while nobody, one and 200 follow the feed, in turn; each follower gets all of them. In
// the last case the 200 follow a broadcaster, which has nothing to do with the decision, but
// shares its processors.
func BenchmarkDecisionWithFollowers(b *testing.B) {
	w := newWorld(b, func(c *testserver.Config) { c.Set = map[string]string{"limits.per_caller": "100"} })
	bare := &broadcaster{followers: map[chan []byte]struct{}{}}
	other := httptest.NewServer(bare)
	defer other.Close()
	there, err := url.Parse(other.URL)
	if err != nil {
		b.Fatal(err)
	}
	cases := []struct {
		name      string
		followers int
		bare      bool
	}{{"0", 0, false}, {"1", 1, false}, {"200", 200, false}, {"200-bare", 200, true}}
	took := make([][]float64, len(cases))
	for b.Loop() {
		for i, c := range cases {
			r := w.request(vera, http.MethodGet, "/events", nil)
			send := func([]byte) {}
			if c.bare {
				r.URL, send = there, bare.send
			}
			took[i] = append(took[i], w.decisions(r, c.followers, send))
		}
	}
	for i, c := range cases {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2], c.name+"-µs")
	}
}

// decisions makes 100 decisions, 20 ms apart, while followers follow, and returns how many µs one
// took, at the median. send is called after each.
func (w *world) decisions(r *http.Request, followers int, send func(frame []byte)) float64 {
	w.t.Helper()
	pending := w.fill(100)
	var got atomic.Int64
	for range followers {
		defer w.listen(r, &got)() //nolint:gocritic // all of them at the end
	}
	frame := bytes.Repeat([]byte("x"), 400) // about as much as an entry
	frame = append(append([]byte("data: "+resolved), frame...), "\n\n"...)
	var took []time.Duration
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for i := range pending {
		<-pace.C
		began := time.Now()
		if err := w.Approvals().Decide(w.t.Context(), olga, approval.Decision{ID: pending[i].ID, Digest: pending[i].Digest, Type: approval.Reject}); err != nil {
			w.t.Fatal(err)
		}
		took = append(took, time.Since(began))
		send(frame)
	}
	w.poll("the followers", func() bool { return got.Load() >= int64(followers*len(pending)) })
	slices.Sort(took)
	return took[len(took)/2].Seconds() * 1e6
}
