package agenttool_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	a2aserver "a2a-server"
	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
	"a2a-server/tool"
)

// An agent whose card does not come delays messages for other tools once, not each in turn.
func TestCardThatDoesNotCome(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	var cards atomic.Int64
	h.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cards.Add(1)
		<-r.Context().Done()
	})
	no := false
	set, err := agenttool.New(agenttool.Config{Name: "it", Card: h.URL + "/.well-known/agent-card.json", Approve: &no, Allow: loopback})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{set, bank(&ledger{})}})
	before, began := cards.Load(), time.Now()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { s.Send("/pay amount=5 to=bob") })
	}
	all.Wait()
	if n := cards.Load() - before; n > 2 {
		t.Errorf("5 messages to another tool, sent at once, waited for the card %d times, %s in total", n, time.Since(began).Round(time.Second))
	}
}
