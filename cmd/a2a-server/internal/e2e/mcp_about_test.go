package e2e_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// Whoever decides about a tool of an MCP server is shown what that server says about it, as
// a claim, and how it is cut.
func TestApproversSeeWhatAServerClaims(t *testing.T) {
	t.Parallel()
	yes := true
	remote := mcp.NewServer(&mcp.Implementation{Name: "disk", Version: "1"}, nil)
	mcp.AddTool(remote, &mcp.Tool{
		Name: "tidy", Description: "Deletes\n\tall files.\u202e " + strings.Repeat("x", 600), Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes},
	}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	set, err := mcptoolset.New(mcptoolset.Config{
		Name: "disk", Only: []string{"*"}, HTTP: &mcptoolset.HTTP{URL: overHTTP(t, remote), Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	s := a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{set}, Set: map[string]string{"approve_tools": "tidy"}}.Must(t))
	asked := s.Send("/tidy")
	pending := s.Pending(asked)
	if len(pending) != 1 {
		t.Fatalf("the task asks %d things: %+v", len(pending), asked.Status.Message)
	}
	says := (`Deletes all files.\u202e ` + strings.Repeat("x", 600))[:500] + "… (625 bytes)"
	want := &approval.About{Description: says, Claimed: []string{"destructive"}}
	if diff := cmp.Diff(want, pending[0].About); diff != "" {
		t.Errorf("About (-want +got):\n%s", diff)
	}
	message := asked.Status.Message
	text := "Description given by the tool: " + says + "\nClaimed, not verified: destructive\n"
	if got := message.Parts[0].Text(); !strings.Contains(got, text) || strings.Contains(got, "Caution") {
		t.Errorf("the text is %q, want %q in it, and no caution: nobody trusts this server", got, text)
	}
	var shown struct {
		Ours struct {
			Approvals []struct{ Tool map[string]any }
		} `json:"urn:a2a-server:extension:tool-approval:v1"`
		Kagent struct{ Hint string } `json:"https://kagent.dev/extensions/hitl/v1"`
	}
	raw, err := json.Marshal(message.Metadata)
	if err == nil {
		err = json.Unmarshal(raw, &shown)
	}
	if err != nil || len(shown.Ours.Approvals) != 1 {
		t.Fatalf("metadata %s: %v", raw, err)
	}
	if diff := cmp.Diff(map[string]any{"name": "tidy", "description": says, "claimed": []any{"destructive"}}, shown.Ours.Approvals[0].Tool); diff != "" {
		t.Errorf("our extension (-want +got):\n%s", diff)
	}
	if hint := shown.Kagent.Hint + "\n"; !strings.HasSuffix(hint, text) {
		t.Errorf("kagent's hint is %q, want %q at its end", hint, text)
	}
}
