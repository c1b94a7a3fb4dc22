package e2e_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// TestToolsOfAServerAreListedOnce: an MCP server with 200 tools is asked for them once,
// however many tasks there are.
func TestToolsOfAServerAreListedOnce(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	remote := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range 200 {
		mcp.AddTool(remote, &mcp.Tool{Name: fmt.Sprintf("tool%d", i), Description: "Says its name."},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("tool ", i)}}}, nil, nil
			})
	}
	remote.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				lists.Add(1)
			}
			return next(ctx, method, r)
		}
	})
	set, err := mcptoolset.New(mcptoolset.Config{
		Name: "many", Only: []string{"*"}, HTTP: &mcptoolset.HTTP{URL: overHTTP(t, remote), Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	s := a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{set}}.Must(t))
	for i := range 20 {
		want := fmt.Sprint("tool ", 7*i)
		if got := s.Text(s.Wait(s.Send(fmt.Sprintf("/tool%d", 7*i)).ID, a2a.TaskStateCompleted)); got != want && got != want+"\n" {
			t.Errorf("tool%d said %q, want %q", 7*i, got, want)
		}
	}
	if n := lists.Load(); n != 1 {
		t.Errorf("the tools were listed %d times, want once", n)
	}
}
