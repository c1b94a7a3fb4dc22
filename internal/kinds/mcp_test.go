//go:build unix

package kinds_test

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is an MCP server with two tools that pay.
func mcpServer(pay func(payment) error) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "pay", Version: "1"}, nil)
	for _, name := range []string{"pay", "pay_soon"} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Pays."},
			func(_ context.Context, _ *mcp.CallToolRequest, p payment) (*mcp.CallToolResult, payment, error) {
				return nil, p, pay(p)
			})
	}
	return s
}

// serveMCP is the process of an MCP server over stdio, which pays into a ledger.
func serveMCP(ledger string) int {
	s := mcpServer(func(p payment) error { return enter(ledger, p) })
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil && os.Getppid() != 1 {
		return fail(err)
	}
	return 0
}
