package api_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/auth"
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
	byTask := map[string][]approval.Answer{}
	for _, a := range all {
		byTask[a.Task] = append(byTask[a.Task], approval.Answer{ID: a.ID, Digest: a.Digest, Verb: approval.Reject})
	}
	for _, answers := range byTask {
		if err := w.Approvals().DecideAll(w.t.Context(), olga, answers); err != nil {
			w.t.Fatal(err)
		}
	}
}

// raw sends a request without validating the exchange, and returns the size of the body.
func (w *world) raw(by auth.Principal, path string) int64 {
	w.t.Helper()
	resp, err := (&http.Client{Transport: transport}).Do(w.request(by, http.MethodGet, path, nil))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var zipped counter
	z := gzip.NewWriter(&zipped)
	n, err := io.Copy(z, resp.Body)
	if err == nil {
		err = z.Close()
	}
	if err != nil || resp.StatusCode != http.StatusOK || n == 0 {
		w.t.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
	return int64(zipped)
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// The first pages of 1,000 pending approvals beside 100,000 settled ones, in memory.
func BenchmarkList(b *testing.B) {
	w := newWorld(b)
	for range 100 {
		w.reject(w.fill(1000))
	}
	w.fill(1000)
	for _, query := range []string{"", "limit=200", "order=deadline", "mine=true", "gate=ship&tool=ship", "state=settled", "state=rejected&tool=ship&limit=200"} {
		b.Run(fmt.Sprintf("%q", query), func(b *testing.B) {
			size := int64(0)
			for b.Loop() {
				size = w.raw(olga, "/approvals?"+query)
			}
			b.ReportMetric(float64(size), "gzip-B")
		})
	}
	transport.CloseIdleConnections()
}

// A decision while nobody, one and 200 follow the feed; each gets all of it.
func BenchmarkDecisionWithFollowers(b *testing.B) {
	for _, followers := range []int{0, 1, 200} {
		b.Run(fmt.Sprint(followers), func(b *testing.B) {
			w := newWorld(b, func(c *a2aserver.Config) { c.Set = map[string]string{"limits.per_caller": "100"} })
			b.StopTimer()
			pending := w.fill(b.N)
			var got atomic.Int64
			var open sync.WaitGroup
			for range followers {
				s := w.follow(vera, "/events", "")
				s.next()
				open.Go(func() {
					for f := range s.frames {
						if strings.Contains(f.data, `"what":"resolved"`) {
							got.Add(1)
						}
					}
				})
			}
			b.StartTimer()
			for i := range b.N {
				a := &pending[i]
				if err := w.Approvals().Decide(b.Context(), olga, approval.Answer{ID: a.ID, Digest: a.Digest, Verb: approval.Reject}); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			w.poll("the followers", func() bool { return got.Load() == int64(followers*b.N) })
		})
	}
}
