package mcptoolset_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkEcho compares a call of a server over stdio with the same call by the SDK alone.
func BenchmarkEcho(b *testing.B) {
	with := map[string]any{"text": "hello"}
	b.Run("toolset", func(b *testing.B) {
		echo := named(b, open(b, command(b, "good")), "echo")
		b.ReportAllocs()
		for b.Loop() {
			if all, err := call(b.Context(), echo, with); err != nil || all[0].Content != "hello" {
				b.Fatal(all, err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		server := exec.Command(self)
		server.Env = []string{serverEnv + "=good"}
		client := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
		session, err := client.Connect(b.Context(), &mcp.CommandTransport{Command: server}, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: with}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
