package a2a_test

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/store"
	"a2a-server/task/engine"
)

// losing is a store whose logs, but not what is known of tasks, cannot be read once it
// has lost them.
type losing struct {
	store.Handle
	lost atomic.Bool
}

func (l *losing) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	if l.lost.Load() && from != store.After(math.MaxInt64) {
		return store.LogPage{}, store.ErrDataLoss
	}
	return l.Handle.Read(ctx, s, id, from, limit)
}

// lines keeps what a logger writes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A stream that fails after it has begun says so in its last frame: one that just ended
// would be resumed forever. The log has the cause.
func TestStreamThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	db, said := &losing{}, &lines{}
	r := startRoomy(t, func(e *engine.Config, c *a2a.Config) {
		db.Handle, e.Store = e.Store, db
		c.Log = zerolog.New(said).Level(zerolog.InfoLevel)
	})
	_, begun := r.response(r.request(http.MethodPost, "/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"/pour n=3 size=5"}]}}`)) //nolint:bodyclose // response reads and closes it
	_, rest, _ := strings.Cut(begun, "id: ")
	last, rest, _ := strings.Cut(rest, "\n")
	_, rest, _ = strings.Cut(rest, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	db.lost.Store(true)
	for name, c := range map[string]struct{ method, path, body, want string }{
		"HTTP+JSON": {http.MethodGet, "/tasks/" + id + ":subscribe", "", `data: {"error":{"code":500,"status":"DATA_LOSS",`},
		"JSON-RPC":  {http.MethodPost, "/", `{"jsonrpc":"2.0","id":7,"method":"SubscribeToTask","params":{"id":"` + id + `"}}`, `data: {"jsonrpc":"2.0","id":7,"error":{"code":-32603,`},
	} {
		resp, body := r.response(r.request(c.method, c.path, c.body, "Last-Event-ID: "+last)) //nolint:bodyclose // response reads and closes it
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(body, c.want) || !strings.Contains(body, "DATA_LOSS") || strings.Count(body, "data: ") != 1 || !strings.HasSuffix(body, "\n\n") {
			t.Errorf("%s: %d %q, want a frame that begins with %s", name, resp.StatusCode, body, c.want)
		}
	}
	if got := strings.Count(said.String(), "internal error"); got != 2 {
		t.Errorf("the log says of it %d times, want 2:\n%s", got, said)
	}
}
