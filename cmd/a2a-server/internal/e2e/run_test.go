package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	a2aserver "a2a-server"
	"a2a-server/internal/testserver"
	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A stream that is open when the server is told to end gets all that there is, and a
// comment that says why it ends.
func TestShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			in := start(t, load(t, map[string]string{"limits.grace": "50ms"}))
			if protocol == "HTTP/2.0" {
				in.useHTTP2(t)
			}
			parked := in.send(t, "m1", "/transfer_money amount=5 to=bob")
			var read []*followed
			for _, request := range []string{
				request(t, "SubscribeToTask", map[string]any{"id": parked.ID}),
				request(t, "SendStreamingMessage", message("m2", `/stream {"chunks":100000,"size":10,"interval":"10ms"}`)),
			} {
				f := in.follow(t, request)
				if f.protocol != protocol {
					t.Errorf("the stream is %s", f.protocol)
				}
				read = append(read, f)
			}
			start := time.Now()
			in.halt(t)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("the shutdown took %v", took)
			}
			for _, f := range read {
				got := f.end(t)
				if last := got[len(got)-1]; !strings.HasPrefix(last, ": ") || !strings.Contains(last, "shutting down") {
					t.Errorf("the stream ends with %q, want a comment", last)
				}
			}
			in.checkSteps(t)
		})
	}
}

func (in *instance) useHTTP2(t *testing.T) {
	t.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	in.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
}

func (in *instance) checkSteps(t *testing.T) {
	t.Helper()
	var names []string
	for _, line := range in.log.find("shutdown step done") {
		name, _ := line["step"].(string)
		names = append(names, name)
		if _, ok := line["took_ms"].(float64); !ok {
			t.Errorf("step %s has no duration", name)
		}
	}
	if want := []string{"unready", "stop accepting", "end streams", "close the admin socket", "finish calls", "stop push notifications", "close the tools", "close the store"}; !slices.Equal(names, want) {
		t.Errorf("steps %q, want %q", names, want)
	}
}

// A call that runs gets its grace, and is whole at the next start.
func TestShutdownLetsCallsFinish(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"limits.grace": "20s"})
	in := start(t, c)
	f := in.follow(t, request(t, "SendStreamingMessage", message("m", `/stream {"chunks":20,"size":5,"interval":"10ms"}`)))
	in.halt(t)
	f.end(t)
	again := start(t, c)
	var list struct{ Tasks []taskAnswer }
	again.rpc(t, "ListTasks", map[string]any{"includeArtifacts": true}, &list)
	if len(list.Tasks) != 1 || list.Tasks[0].Status.State != "TASK_STATE_COMPLETED" {
		t.Fatalf("tasks after the shutdown: %+v", list.Tasks)
	}
	var text strings.Builder
	for _, p := range list.Tasks[0].Artifacts[0].Parts {
		text.WriteString(p.Text)
	}
	if text.Len() != 100 {
		t.Errorf("the artifact has %d bytes, want 100: %q", text.Len(), text.String())
	}
}

// A request that waits for its task does not hold the shutdown up.
func TestShutdownAnswersWaiting(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"limits.grace": "50ms"}))
	answered := make(chan string, 1)
	go func() {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, in.url, strings.NewReader(request(t, "SendMessage", message("m", `/stream {"chunks":100000,"size":10,"interval":"10ms"}`))))
		r.Header.Set("Content-Type", "application/json")
		resp, err := in.client.Do(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			text = []byte(err.Error())
		}
		answered <- string(text)
	}()
	for { // until the server has the request
		var list struct{ Tasks []taskAnswer }
		if in.rpc(t, "ListTasks", map[string]any{}, &list); len(list.Tasks) > 0 {
			break
		}
	}
	in.halt(t)
	if got := <-answered; !strings.Contains(got, "UNAVAILABLE") {
		t.Errorf("a request that waited was answered with %s", got)
	}
}

// broken is a server with a task, whose store panics at a point when it is used again.
func broken(t *testing.T, c testserver.Config, point, with string) *instance {
	t.Helper()
	var armed atomic.Bool
	in := startHooked(t, c, func(at string) {
		if at == point && armed.Load() {
			panic(with)
		}
	})
	in.send(t, "m1", "/echo hello")
	armed.Store(true)
	return in
}

// When a transaction of the store fails, the server ends, and the program that embeds it gets the error.
func TestFailedStore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		point string
		stops bool // at the same time
	}{{boltstore.PointApplied, false}, {boltstore.PointCommitted, false}, {boltstore.PointApplied, true}} {
		t.Run(fmt.Sprint(tt.point, " ", tt.stops), func(t *testing.T) {
			t.Parallel()
			in := broken(t, load(t, nil), tt.point, "a planted bug")
			if _, said := in.sendAs(t, message("m2", "/echo lost")); !strings.Contains(said, "error") {
				t.Errorf("a send that the store could not take = %s", said)
			}
			var err error
			if tt.stops {
				err = in.stop()
			} else {
				err = <-in.ended
			}
			damage, is := errors.AsType[*a2aserver.DamageError](err)
			if !is || !errors.Is(err, store.ErrDamaged) || !strings.Contains(damage.Error(), "a planted bug") {
				t.Errorf("Run() = %v, want a DamageError with its cause", err)
			}
			in.checkSteps(t)
		})
	}
}
