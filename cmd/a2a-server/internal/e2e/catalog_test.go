package e2e_test

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"encoding/json"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

// shop is a toolset whose tools change.
type shop struct {
	mu    sync.Mutex
	tools []tool.Tool
	err   error
	hangs bool
}

func (s *shop) Name() string { return "shop" }

func (s *shop) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.UserID() != "" { // a nil context would panic
		return nil, errors.New("the card is for anybody")
	}
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.tools, s.err
}

// has sets what the toolset answers.
func (s *shop) has(err error, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.err = nil, err
	for _, name := range names {
		s.tools = append(s.tools, function(name))
	}
}

func function(name string) tool.Tool {
	return functiontool.Must(functiontool.New(functiontool.Config{Name: name, Description: "does " + name},
		func(tool.Context, struct{}) (map[string]any, error) { return nil, nil }))
}

// card returns the skills of the card, and its headers.
func (in *instance) card(t *testing.T, etag string) (skills []string, status int, h http.Header) {
	t.Helper()
	a := in.fetch(t, http.MethodGet, "/.well-known/agent-card.json", "", "If-None-Match", etag)
	var card struct{ Skills []struct{ ID string } }
	if err := json.Unmarshal([]byte(a.Body), &card); err != nil && a.Status == http.StatusOK {
		t.Fatal(err)
	}
	for _, s := range card.Skills {
		skills = append(skills, s.ID)
	}
	return skills, a.Status, a.Header
}

// The skills of the card follow the toolsets: new tools appear, tools that are gone do
// not, and those of a toolset that is down remain.
func TestCardFollowsTheTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		s.has(nil, "buy")
		c := load(t, map[string]string{"store": "memory"})
		c.Tools = []tool.Toolset{tool.NewToolset("fixed", function("fixed")), s}
		in := startInside(t, c)
		skills, _, h := in.card(t, "")
		if want := []string{"fixed", "buy"}; !slices.Equal(skills, want) {
			t.Fatalf("the card lists %v, want %v", skills, want)
		}
		etag := h.Get("ETag")
		if _, status, _ := in.card(t, etag); status != http.StatusNotModified || h.Get("Last-Modified") != "" {
			t.Errorf("the same card = %d, last modified %q, want %d and no time", status, h.Get("Last-Modified"), http.StatusNotModified)
		}
		s.has(nil, "sell")
		until(t, "the card is another", func() bool {
			skills, _, h = in.card(t, etag)
			return slices.Equal(skills, []string{"fixed", "sell"})
		})
		if h.Get("ETag") == etag {
			t.Error("another card has the same ETag")
		}
		s.has(errors.New("connection refused"))
		until(t, "the log says that tools cannot be listed", func() bool {
			_, _, _ = in.card(t, "")
			return len(in.log.find("some tools cannot be listed for the agent card")) > 0
		})
		time.Sleep(time.Minute) // of the bubble: the tools are listed again
		if got := in.skills(t); got != "fixed sell" {
			t.Errorf("while a toolset is down the card lists %s", got)
		}
		if n := len(in.log.find("some tools cannot be listed for the agent card")); n != 1 {
			t.Errorf("that is logged %d times, want once", n)
		}
	})
}

// A toolset that fails, panics or hangs keeps no server from starting, nor a card from
// being served; the others are there.
func TestServerStartsWithoutAToolset(t *testing.T) {
	t.Parallel()
	down := &shop{}
	down.has(errors.New("connection refused"))
	for name, set := range map[string]tool.Toolset{
		"down": down, "hangs": &shop{hangs: true},
		"panics": tool.Filter(&shop{tools: []tool.Tool{function("buy")}}, func(ctx agent.ReadonlyContext, _ tool.Tool) bool { return ctx.Roles()[7] == "" }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := load(t, map[string]string{"store": "memory"})
				c.Tools = []tool.Toolset{set, tool.NewToolset("fixed", function("fixed"))}
				in := startInside(t, c)
				if got := in.skills(t); got != "fixed" {
					t.Errorf("the card lists %s, want the tools that are there", got)
				}
				if len(in.log.saying("some tools cannot be listed")) == 0 {
					t.Error("the log does not say that tools are missing")
				}
			})
		})
	}
}
