package agenttool_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
)

// forever is an agent whose stream has no end; it gives up after most
// bytes. taken gets the number of bytes that were written.
func forever(t *testing.T, most int, first, each string) (h *hostile, taken chan int) {
	t.Helper()
	h = newHostile(t)
	taken = make(chan int, 10)
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			h.ServeHTTP(w, r)
			return
		}
		var request struct{ ID, Method string }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.Method != "SendStreamingMessage" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %q, "error": {"code": -32004, "message": "no"}}`, request.ID)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := 0
		_, _ = fmt.Fprint(w, strings.ReplaceAll(first, "ID", request.ID))
		for i := 0; n < most; i++ {
			event := strings.ReplaceAll(strings.ReplaceAll(each, "ID", request.ID), "NUMBER", fmt.Sprint(i))
			k, err := w.Write([]byte(event))
			n += k
			if err != nil {
				break
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("after %d MiB the heap has %d MiB", n>>20, m.HeapAlloc>>20)
		taken <- n
	})
	return h, taken
}

// An event of a stream has a limit, as other responses have.
func TestEventWithoutEnd(t *testing.T) {
	t.Parallel()
	const most = 96 << 20
	_, taken := streamForever(t, most, "", "data: "+strings.Repeat("x", 1<<20)+"\n")
	if n := <-taken; n >= most {
		t.Errorf("a single event of %d MiB was read into memory, and its end was still awaited", n>>20)
	}
}

// The artifacts of a child have a limit, also if they have no content.
func TestArtifactsWithoutEnd(t *testing.T) {
	t.Parallel()
	const most = 96 << 20
	long := strings.Repeat("x", 256<<10)
	_, taken := streamForever(t, most,
		`data: {"jsonrpc": "2.0", "id": "ID", "result": {"task": `+child("t1", "WORKING", "")+"}}\n\n",
		`data: {"jsonrpc": "2.0", "id": "ID", "result": {"artifactUpdate": {"taskId": "t1", "contextId": "c", "artifact": {"artifactId": "NUMBER`+long+`", "parts": []}}}}`+"\n\n")
	if n := <-taken; n >= most {
		t.Errorf("the names of %d MiB of artifacts without content were kept in memory, and more were awaited", n>>20)
	}
}

func streamForever(t *testing.T, most int, first, each string) (*a2aservertest.Server, chan int) {
	t.Helper()
	h, taken := forever(t, most, first, each)
	s := ours(t, h.URL, func(c *agenttool.Config) { c.Description = "endless" })
	begin(t, s, "/it hello")
	return s, taken
}
