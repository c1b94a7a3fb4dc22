package llm_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/task/planner/llm"
)

// BenchmarkDelta measures how long a piece of the model's text takes to a subscriber, with a store
// on disk and models that send 100 pieces a second. It fails if a piece is lost.
func BenchmarkDelta(b *testing.B) {
	const pieces = 200
	for _, streams := range []int{1, 16, 64} {
		b.Run(strconv.Itoa(streams), func(b *testing.B) {
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for range pieces {
					_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"%d \"}}]}\n\n", time.Now().UnixNano())
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
			server := a2aservertest.New(b, a2aserver.Config{Planner: planner, Set: map[string]string{"store": "bolt", "log.level": "error"}})
			s := &scene{Server: server, t: b}
			var mu sync.Mutex
			var took []time.Duration
			for b.Loop() {
				var all sync.WaitGroup
				for range streams {
					all.Go(func() {
						n := 0
						s.stream(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), func(e *event) bool {
							if e.ArtifactUpdate == nil {
								return true
							}
							now := time.Now().UnixNano()
							for _, p := range e.ArtifactUpdate.Artifact.Parts {
								for _, at := range strings.Fields(p.Text()) {
									sent, err := strconv.ParseInt(at, 10, 64)
									if err != nil {
										b.Error(err)
									}
									n++
									mu.Lock()
									took = append(took, time.Duration(now-sent))
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
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
		})
	}
}
