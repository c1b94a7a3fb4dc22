package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"a2a-server/a2a/agentcard"
	"a2a-server/auth"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// listed is a toolset that answers as list says.
type listed struct {
	name string

	mu   sync.Mutex
	list func() ([]tool.Tool, error)
}

func (l *listed) Name() string { return l.name }

func (l *listed) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	l.mu.Lock()
	list := l.list
	l.mu.Unlock()
	return list()
}

func (l *listed) set(list func() ([]tool.Tool, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = list
}

// has makes the toolset answer with tools of these names.
func (l *listed) has(names ...string) *listed {
	var tools []tool.Tool
	for _, name := range names {
		tools = append(tools, &odd{name: name})
	}
	l.set(func() ([]tool.Tool, error) { return tools, nil })
	return l
}

// odd is a tool whose methods may do anything.
type odd struct {
	name, description string
	approval          func() bool
	annotations       func() tool.Annotations
}

func (o *odd) Name() string        { return o.name }
func (o *odd) Description() string { return o.description }
func (o *odd) IsLongRunning() bool { return false }
func (o *odd) RequiresApproval() bool {
	return o.approval != nil && o.approval()
}
func (o *odd) Annotations() tool.Annotations {
	if o.annotations == nil {
		return tool.Annotations{}
	}
	return o.annotations()
}

// catalogOf returns the catalog of a server with these toolsets.
func catalogOf(t *testing.T, log zerolog.Logger, sets ...tool.Toolset) *Catalog {
	t.Helper()
	of := &Tools{Registry: tool.NewRegistry(sets...), Agent: "it"}
	c := NewCatalog(of, listerOf(t, of), log)
	t.Cleanup(c.Close)
	return c
}

// listerOf returns the tools of a state.
func listerOf(t *testing.T, s *Tools) *Lister {
	t.Helper()
	l := NewLister(s.Registry, s.Agent, auth.Anonymous())
	l.Fill(t.Context())
	return l
}

func ids(skills []agentcard.Skill) (all []string) {
	for _, s := range skills {
		all = append(all, s.ID)
	}
	return all
}

// wantCard checks what the card lists.
func wantCard(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the card lists %v, want %v", got, want)
	}
}

// later returns what the card lists once its skills have been made again.
func later(c *Catalog) []string {
	time.Sleep(cardAge)
	c.List()
	synctest.Wait()
	return ids(c.List())
}

// A toolset that is down keeps its tools on the card, and only its own: what another has
// no longer, or only for some roles, is not on the card.
func TestCardWhileAToolsetIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down, up := (&listed{name: "down"}).has("a"), (&listed{name: "up"}).has("b", "c")
		c := catalogOf(t, zerolog.Nop(), down, up)
		down.set(func() ([]tool.Tool, error) { return nil, errors.New("connection refused") })
		up.has("c", "d")
		wantCard(t, later(c), "a", "c", "d")
		down.set(func() ([]tool.Tool, error) { panic("broken") })
		up.has()
		wantCard(t, later(c), "a")
		down.has()
		wantCard(t, later(c))
	})
}

// A toolset that hangs, whatever its context says, is not asked again before it has
// answered, and holds up no other one; the card is there at once.
func TestCardWhileAToolsetHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs, up := (&listed{name: "hangs"}).has("a"), (&listed{name: "up"}).has("b")
		c := catalogOf(t, zerolog.Nop(), hangs, up)
		free, asked := make(chan struct{}), 0
		hangs.set(func() ([]tool.Tool, error) {
			asked++ // one at a time
			<-free
			return []tool.Tool{&odd{name: "new"}}, nil
		})
		up.has("c")
		wantCard(t, ids(c.List()), "a", "b")
		for range 10 {
			time.Sleep(ListTime + cardAge)
			began := time.Now()
			c.List()
			if took := time.Since(began); took > cardTime {
				t.Errorf("the card took %v, want at most %v", took, cardTime)
			}
		}
		wantCard(t, later(c), "a", "c")
		if asked != 1 {
			t.Errorf("a toolset that hangs is asked %d times", asked)
		}
		close(free)
		hangs.set(func() ([]tool.Tool, error) { return []tool.Tool{&odd{name: "new"}}, nil })
		wantCard(t, later(c), "new", "c")
	})
}

// A tool that panics when it is described is not on the card, and harms nothing else.
func TestCardOfToolsThatPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		set := (&listed{name: "odd"}).has("good")
		c := catalogOf(t, zerolog.New(&log), set)
		tools := []tool.Tool{
			&odd{name: "approval", approval: func() bool { panic("broken") }},
			&odd{name: "annotations", annotations: func() tool.Annotations { panic("broken") }},
			&odd{name: "better"},
		}
		set.set(func() ([]tool.Tool, error) { return tools, nil })
		wantCard(t, later(c), "better")
		if !strings.Contains(log.String(), "approval") || !strings.Contains(log.String(), "panicked") {
			t.Errorf("the log says %s", log.String())
		}
	})
}

// The card is bounded, whatever the toolsets list, and hides nothing in its texts.
func TestCardIsBounded(t *testing.T) {
	t.Parallel()
	var many []tool.Tool
	for i := range 20_000 {
		many = append(many, &odd{name: fmt.Sprint("tool", i)})
	}
	hostile := []tool.Tool{
		&odd{name: "long", description: strings.Repeat("x", 10<<20)},
		&odd{name: "a\u202eb\xff" + strings.Repeat("n", 1<<20), description: "hi\u200b\x00\xff"},
	}
	big := make([]tool.Tool, 0, 1000)
	for i := range 1000 {
		big = append(big, &odd{name: fmt.Sprint("big", i), description: strings.Repeat("\u202e", 1<<12)})
	}
	for name, tools := range map[string][]tool.Tool{"many": many, "hostile": hostile, "big": big} {
		var entries []*tool.Registered
		for _, made := range tools {
			entries = append(entries, &tool.Registered{Tool: made, Definition: tool.ToDefinition(made)})
		}
		got, cut := skills(entries, &Tools{})
		size := 0
		for _, s := range got {
			size += len(s.ID) + len(s.Name) + len(s.Description)
			for _, text := range []string{s.ID, s.Name, s.Description} {
				if !utf8.ValidString(text) || strings.ContainsAny(text, "\u202e\u200b\x00") {
					t.Errorf("%s: %q is on the card", name, text[:min(len(text), 40)])
				}
			}
		}
		if size > 2*maxCard || len(got) > maxSkills || len(got) == 0 {
			t.Errorf("%s: the card has %d skills of %d bytes", name, len(got), size)
		}
		if (cut != nil) != (name != "hostile") {
			t.Errorf("%s: the list was cut: %v", name, cut)
		}
	}
}

// While a toolset of many tools is down, the card does not wait.
func TestCardOfManyToolsThatAreDown(t *testing.T) {
	t.Parallel()
	var many []tool.Tool
	for i := range 20_000 {
		many = append(many, &odd{name: fmt.Sprint("tool", i)})
	}
	synctest.Test(t, func(t *testing.T) {
		set, other := &listed{name: "many"}, (&listed{name: "other"}).has("one")
		set.set(func() ([]tool.Tool, error) { return many, nil })
		c := catalogOf(t, zerolog.Nop(), set, other)
		set.set(func() ([]tool.Tool, error) { return nil, errors.New("down") })
		if got := later(c); len(got) != maxSkills {
			t.Errorf("the card lists %d tools, want %d", len(got), maxSkills)
		}
	})
}

// Two toolsets with a tool of one name have neither of the two on the card: nobody can call
// it. Their others are there.
func TestCardOfACollision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := (&listed{name: "one"}).has("a", "b"), (&listed{name: "two"}).has("c")
		c := catalogOf(t, zerolog.Nop(), one, two)
		two.has("b", "c")
		wantCard(t, later(c), "a", "c")
	})
}

// What the toolsets of an earlier configuration answer late is not on the card of the one
// that a reload has put in its place.
func TestCardAfterAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := (&listed{name: "before"}).has("a")
		c := catalogOf(t, zerolog.Nop(), set)
		free := make(chan struct{})
		set.set(func() ([]tool.Tool, error) {
			<-free
			return []tool.Tool{&odd{name: "late"}}, nil
		})
		time.Sleep(cardAge)
		c.List()
		next := &Tools{Registry: tool.NewRegistry((&listed{name: "after"}).has("b")), Agent: "it"}
		c.Set(next, listerOf(t, next))
		close(free)
		synctest.Wait()
		wantCard(t, ids(c.List()), "b")
		wantCard(t, later(c), "b")
	})
}
