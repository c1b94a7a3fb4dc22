package mcptoolset_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// studio is a server that asks while its calls run, and knows how many connections it has.
type studio struct {
	config mcptoolset.Config
	conns  func() int
	ran    sync.Map // thing → true
}

func newStudio(t *testing.T, overHTTP bool) *studio {
	t.Helper()
	st := &studio{}
	server := painting(older, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		st.ran.Store(args(r)["thing"], true)
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Which colour for " + args(r)["thing"] + "?", RequestedSchema: properties(nil)})
		if err != nil {
			return nil, err
		}
		return text(args(r)["thing"] + " " + res.Action), nil
	})
	if overHTTP {
		s := server()
		st.config = web(t, streamable(t, s))
		st.conns = func() (n int) {
			for range s.Sessions() {
				n++
			}
			return n
		}
	} else {
		var n atomic.Int64
		st.config, st.conns = over(t, server), func() int { return int(n.Load()) }
		dial := st.config.Dial
		st.config.Dial = func(ctx context.Context) (io.ReadWriteCloser, error) {
			c, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			n.Add(1)
			return &counted{ReadWriteCloser: c, n: &n}, nil
		}
	}
	st.config = asking(st.config)
	return st
}

// counted is a connection that counts until it is closed.
type counted struct {
	io.ReadWriteCloser

	once sync.Once
	n    *atomic.Int64
}

func (c *counted) Close() error {
	c.once.Do(func() { c.n.Add(-1) })
	return c.ReadWriteCloser.Close()
}

func (st *studio) has(thing string) bool {
	_, ok := st.ran.Load(thing)
	return ok
}

// A question that nobody answers holds the calls of its caller, and of nobody else: others
// get a connection of their own, which is closed when their call has ended.
func TestUnansweredQuestionHoldsItsCaller(t *testing.T) {
	t.Parallel()
	for name, overHTTP := range map[string]bool{"pipe": false, "HTTP": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStudio(t, overHTTP)
			set := open(t, st.config)
			paint := named(t, set, "paint")
			nobody := (&people{}).wait()
			ctx, cancel := context.WithCancel(nobody.ctx(t))
			var held sync.WaitGroup
			defer held.Wait()
			defer cancel()
			held.Go(func() {
				if _, err := callAs(callContext{Context: ctx, tenant: "acme", user: "ann"}, paint, map[string]any{"thing": "wall"}); !errors.Is(err, tool.ErrOutcomeUnknown) {
					t.Errorf("the held call = %v, want that its outcome is unknown", err)
				}
			})
			eventually(t, "ann is asked", func() bool { return len(nobody.asked()) == 1 })
			for _, other := range []callContext{{tenant: "acme", user: "bob"}, {tenant: "rival", user: "ann"}, {}} {
				p := yes()
				other.Context = p.ctx(t)
				all, err := callAs(other, paint, map[string]any{"thing": "door"})
				if err != nil || len(all) != 1 || all[0].Content != "door accept" {
					t.Fatalf("call of %s in %s = %v, %v", other.user, other.tenant, all, err)
				}
				if asked := p.asked(); len(asked) != 1 || !strings.Contains(asked[0].Hint, "for door?") {
					t.Errorf("%s was asked %+v", other.user, asked)
				}
			}
			if asked := nobody.asked(); len(asked) != 1 {
				t.Errorf("ann was asked %+v, want her own question only", asked)
			}
			eventually(t, "the connections of the others are closed", func() bool { return st.conns() == 1 })

			// Ann's next call waits for her first.
			own := yes()
			held.Go(func() {
				all, err := callAs(callContext{Context: own.ctx(t), tenant: "acme", user: "ann"}, paint, map[string]any{"thing": "roof"})
				if err != nil || len(all) != 1 || all[0].Content != "roof accept" {
					t.Errorf("her next call = %v, %v", all, err)
				}
			})
			eventually(t, "it waits", func() bool { return set.Status().Calls == 2 })
			if st.has("roof") {
				t.Error("her next call runs while the first waits for an answer")
			}
			cancel()
		})
	}
}

// The number of callers for whom a server waits at the same time is bounded; another one is
// told so, and nothing is called.
func TestHeldConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 16
	st := newStudio(t, false)
	set := open(t, st.config)
	paint := named(t, set, "paint")
	nobody := (&people{}).wait()
	ctx, cancel := context.WithCancel(nobody.ctx(t))
	var held sync.WaitGroup
	defer held.Wait()
	defer cancel()
	for i := range most {
		held.Go(func() {
			_, _ = callAs(callContext{Context: ctx, user: fmt.Sprint("user ", i)}, paint, map[string]any{"thing": fmt.Sprint("wall ", i)})
		})
	}
	eventually(t, "all are asked", func() bool { return len(nobody.asked()) == most })
	if n := st.conns(); n != most {
		t.Errorf("the server has %d connections, want %d", n, most)
	}
	last := callContext{Context: nobody.ctx(t), user: "last"}
	_, err := callAs(last, paint, map[string]any{"thing": "door"})
	if err == nil || errors.Is(err, tool.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "16 callers") || !strings.Contains(err.Error(), "nothing was called") || st.has("door") {
		t.Errorf("one more call = %v, want that nothing was called", err)
	}
	cancel()
	eventually(t, "the connections are closed", func() bool { return st.conns() <= 1 })
	last.Context = (&people{}).says(tool.Answer{State: tool.AnswerRejected}, nil).ctx(t)
	var all []*tool.Result
	eventually(t, "a call has room again", func() bool {
		all, err = callAs(last, paint, map[string]any{"thing": "door"})
		return err == nil || !strings.Contains(err.Error(), "16 callers")
	})
	if err != nil || all[0].Content != "door decline" {
		t.Errorf("a call after that = %v, %v", all, err)
	}
}

// A connection that a caller gets for one call lists the tools itself: what it offers is
// what counts.
func TestOwnConnectionListsTheTools(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	config := scripted(t, func(n int, s *script) {
		for {
			m, ok := s.answer(fmt.Sprintf(`{"name":"echo","description":"%d","inputSchema":{"type":"object"}}`, min(n, 2)))
			if !ok {
				return
			}
			if n == 1 {
				close(asked)
				continue // it never answers
			}
			s.reply(m, "connection %d", n)
		}
	})
	set := open(t, asking(config))
	echo := named(t, set, "echo")
	ctx, cancel := context.WithCancel(t.Context())
	var held sync.WaitGroup
	defer held.Wait()
	defer cancel()
	held.Go(func() { _, _ = call(ctx, echo, nil) })
	<-asked
	bob := callContext{Context: t.Context(), user: "bob"}
	if _, err := callAs(bob, echo, nil); err == nil || !strings.Contains(err.Error(), "has changed the definition") {
		t.Errorf("a call of what is not the same tool on that connection = %v", err)
	}
	if all, err := callAs(bob, named(t, set, "echo"), nil); err != nil || all[0].Content != "connection 3" {
		t.Errorf("a call of the tool as it is now = %v, %v", all, err)
	}
}
