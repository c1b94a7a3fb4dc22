package mcptoolset_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// both is a server of all versions whose tool asks while it runs, which fails over the
// versions that forbid that.
func both() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "both", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "paint", InputSchema: object("thing")}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Which colour?", RequestedSchema: properties(map[string]any{"colour": map[string]any{"type": "string"}})})
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(res.Content)
		return text(res.Action + " " + string(content)), err
	})
	return s
}

// A server that speaks the versions in which it may ask while a call runs, and the one in
// which it must not, can ask if it is told to speak the former.
func TestProtocol(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[mcptoolset.Protocol]bool{"": false, mcptoolset.ProtocolNewest: false, mcptoolset.ProtocolHandshake: true} {
		t.Run("protocol "+string(protocol), func(t *testing.T) {
			t.Parallel()
			p := (&people{}).says(tool.Answer{State: tool.AnswerResponded, Response: json.RawMessage(`{"colour":"red"}`)}, nil)
			config := over(t, both)
			config.Elicit, config.Protocol = mcptoolset.ElicitAsk, protocol
			all, err := call(p.ctx(t), named(t, open(t, config), "paint"), map[string]any{"thing": "wall"})
			got := ""
			if len(all) == 1 {
				got, _ = all[0].Content.(string)
			}
			if answered := err == nil && got == `accept {"colour":"red"}`; answered != want || len(p.asked()) > 0 != want {
				t.Errorf("people were asked %+v, the result is %q, %v; want an answer: %v", p.asked(), got, err, want)
			}
		})
	}
}

func TestProtocolUnknown(t *testing.T) {
	t.Parallel()
	_, err := mcptoolset.New(mcptoolset.Config{Name: "x", Only: []string{"*"}, Command: &mcptoolset.Command{Argv: []string{"x"}}, Protocol: "2024"})
	if err == nil || !strings.Contains(err.Error(), `protocol: "2024" is unknown; write newest or 2025-11-25`) {
		t.Errorf("New() = %v", err)
	}
}
