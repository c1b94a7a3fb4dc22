package tool_test

import (
	"errors"
	"strings"
	"testing"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// remoteTool is a tool that runs on one of several servers.
type remoteTool struct {
	tool.Tool

	server string
	down   error
}

func (r remoteTool) Unwrap() tool.Tool { return r.Tool }

func (r remoteTool) Identity() string { return r.server }

func (r remoteTool) Reachable() error {
	if r.server == "broken" {
		panic("no")
	}
	return r.down
}

// moving is a toolset whose tool is now on one server, and now on another.
type moving struct{ on string }

func (m *moving) Name() string { return "moving" }

func (m *moving) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	return []tool.Tool{remoteTool{Tool: named("x"), server: m.on}}, nil
}

// The digest that approvals are valid for tells tools of two servers apart, wrapped or not;
// that of the definition does not.
func TestIdentity(t *testing.T) {
	t.Parallel()
	digest := map[string]string{}
	set := &moving{}
	plain, wrapped := tool.NewRegistry(set), tool.NewRegistry(tool.WithConfirmation(set))
	for _, set.on = range []string{"", "a", "b", "a"} {
		e, err := plain.Lookup(nil, "x")
		if err != nil {
			t.Fatal(err)
		}
		if before := digest[set.on]; before != "" && before != e.Digest {
			t.Errorf("server %q: the digest is %s, and it was %s", set.on, e.Digest, before)
		}
		digest[set.on] = e.Digest
		if w, err := wrapped.Lookup(nil, "x"); err != nil || w.Digest != e.Digest {
			t.Errorf("wrapped, the digest is %v, %v, want %s", w, err, e.Digest)
		}
		if d, err := tool.Digest(e.Definition); err != nil || d != digest[""] {
			t.Errorf("server %q: the digest of the definition is %s, %v", set.on, d, err)
		}
	}
	if digest["a"] == digest["b"] || digest["a"] == digest[""] || digest["b"] == digest[""] {
		t.Errorf("the digests of three servers: %q", digest)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, c := range map[string]struct {
		t    tool.Tool
		says string
	}{
		"no such method": {named("x"), ""},
		"up":             {remoteTool{Tool: named("x")}, ""},
		"down":           {remoteTool{Tool: named("x"), down: down}, "down"},
		"panics":         {remoteTool{Tool: named("x"), server: "broken"}, "panicked: no"},
	} {
		if err := tool.Unreachable(c.t); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
