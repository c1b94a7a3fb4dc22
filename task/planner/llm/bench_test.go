package llm_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
	"a2a-server/store/boltstore"
	"a2a-server/task/planner/llm"
)

// commits counts the commits of a store, by its crash points.
type commits struct {
	n     atomic.Int64
	mu    sync.Mutex
	began time.Time
	took  []time.Duration
}

func (c *commits) at(point string) {
	switch point {
	case boltstore.PointTaken:
		c.mu.Lock()
		c.began = time.Now()
		c.mu.Unlock()
	case boltstore.PointCommitted:
		c.n.Add(1)
		c.mu.Lock()
		c.took = append(c.took, time.Since(c.began))
		c.mu.Unlock()
	}
}

// BenchmarkDelta measures how long a piece of the model's text takes to a subscriber, with a store
// on disk and models that send 100 pieces a second: in milliseconds, and in commits that ended
// meanwhile, its own among them. A chunk waits for the commit that is running and for its own, so
// two or three are expected, whatever the disk. It fails if the median of
// at most 16 streams is more than three, or a piece is lost, comes twice, or out of order.
func BenchmarkDelta(b *testing.B) {
	const pieces = 200
	for _, streams := range []int{1, 16, 64} {
		b.Run(strconv.Itoa(streams), func(b *testing.B) {
			written := &commits{}
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range pieces {
					_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"%d:%d:%d \"}}]}\n\n", i, written.n.Load(), time.Now().UnixNano())
					_ = http.NewResponseController(w).Flush()
					time.Sleep(10 * time.Millisecond)
				}
				_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			defer endpoint.Close()
			planner, err := llm.New(llm.Config{URL: endpoint.URL + "/v1", Model: "m"})
			if err != nil {
				b.Fatal(err)
			}
			server := a2aservertest.New(b, testserver.Config{Planner: planner, CrashPoint: written.at, Set: map[string]string{"store": "bolt", "log.level": "error"}}.Must(b))
			s := &scene{Server: server, t: b}
			var mu sync.Mutex
			var took []time.Duration
			var passed []int64
			for b.Loop() {
				var all sync.WaitGroup
				for range streams {
					all.Go(func() {
						n := 0
						s.stream(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), func(e *event) bool {
							if e.ArtifactUpdate == nil {
								return true
							}
							now, done := time.Now().UnixNano(), written.n.Load()
							for _, p := range e.ArtifactUpdate.Artifact.Parts {
								for _, piece := range strings.Fields(p.Text()) {
									var i int
									var before, sent int64
									if _, err := fmt.Sscanf(piece, "%d:%d:%d", &i, &before, &sent); err != nil || i != n {
										b.Errorf("piece %q came (%v), want number %d", piece, err, n)
									}
									n++
									mu.Lock()
									took, passed = append(took, time.Duration(now-sent)), append(passed, done-before)
									mu.Unlock()
								}
							}
							return true
						})
						if n != pieces {
							b.Errorf("%d pieces came, want %d", n, pieces)
						}
					})
				}
				all.Wait()
			}
			slices.Sort(took)
			slices.Sort(passed)
			slices.Sort(written.took)
			median := passed[len(passed)/2]
			if median > 3 && streams <= 16 {
				b.Errorf("a piece takes %d commits, want at most 3", median)
			}
			b.ReportMetric(float64(median), "commits/median")
			b.ReportMetric(float64(passed[len(passed)*99/100]), "commits/p99")
			b.ReportMetric(float64(written.took[len(written.took)/2].Microseconds())/1000, "ms/commit")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
		})
	}
}
