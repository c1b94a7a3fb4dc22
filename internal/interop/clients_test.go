package interop

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// A world is what a case is played in.
type world struct {
	client // the one that is tested
	server *server
}

// TestEndToEnd prepares everything once, and runs all tests with it.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	t.Run("clients", func(t *testing.T) { t.Parallel(); testClients(t, p) })
	t.Run("Python SDK", func(t *testing.T) { t.Parallel(); testPythonTranscripts(t, p) })
	t.Run("agents", func(t *testing.T) { t.Parallel(); testAgents(t, p) })
	t.Run("samples", func(t *testing.T) { t.Parallel(); testSamples(t, p) })
	t.Run("adk run", func(t *testing.T) { t.Parallel(); testADKRun(t, p) })
	t.Run("delegation", func(t *testing.T) { t.Parallel(); testDelegation(t, p) })
	t.Run("MCP servers", func(t *testing.T) { t.Parallel(); testMCP(t, p) })
	t.Run("elsewhere", func(t *testing.T) { t.Parallel(); testElsewhere(t, p) })
	t.Run("issuers of tokens", func(t *testing.T) { t.Parallel(); testIssuers(t, p) })
	t.Run("by hand", func(t *testing.T) { t.Parallel(); testByHand(t, p) })
	t.Run("curl", func(t *testing.T) { t.Parallel(); testCurl(t, p) })
	t.Run("restart", func(t *testing.T) { t.Parallel(); testRestart(t, p) })
}

// testClients plays every case with every client against one server, all at once.
func testClients(t *testing.T, p programs) {
	s := start(t, p.server, t.TempDir())
	sdk := func(binding a2a.TransportProtocol) client {
		return &sdkClient{url: s.url, binding: binding, resolver: agentcard.NewResolver(&http.Client{})}
	}
	js := func(binding a2a.TransportProtocol) client {
		return &jsClient{node: p.node, script: p.script, url: s.url, binding: binding}
	}
	for _, c := range []struct {
		name string
		client
	}{
		{"go jsonrpc", sdk(a2a.TransportProtocolJSONRPC)},
		{"go rest", sdk(a2a.TransportProtocolHTTPJSON)},
		// By the card it takes JSON-RPC, which the card names first.
		{"cli by card", &cliClient{program: p.cli, url: s.url}},
		{"cli rest", &cliClient{program: p.cli, url: s.url, flags: []string{"--transport", "rest"}}},
		{"js jsonrpc", js(a2a.TransportProtocolJSONRPC)},
		{"js rest", js(a2a.TransportProtocolHTTPJSON)},
		{"python jsonrpc", startPython(t, p, s.url, a2a.TransportProtocolJSONRPC)},
		{"python rest", startPython(t, p, s.url, a2a.TransportProtocolHTTPJSON)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, tc := range cases {
				t.Run(tc.name, func(t *testing.T) {
					t.Parallel()
					ctx, cancel := deadline(t)
					defer cancel()
					tc.play(ctx, t, world{client: c.client, server: s})
				})
			}
		})
	}
}

// deadline bounds a case, so that a client that waits forever fails it.
func deadline(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), time.Minute)
}

// cases are what every client has to be able to do.
var cases = []struct {
	name string
	play func(context.Context, *testing.T, world)
}{
	{"agent card", playCard},
	{"answer without a task", playDirect},
	{"call", playCall},
	{"stream", playStream},
	{"send and return at once", playImmediate},
	{"same message twice", playTwice},
	{"unknown task", playUnknown},
	{"task that has ended", playEnded},
	{"history", playHistory},
	{"list", playList},

	{"pause", playPause},
	{"pause in a stream", playPauseInStream},
	{"approve in every dialect", playApprove},
	{"edit", playEdit},
	{"reject", playReject},
	{"two at once", playTwo},
	{"cancel", playCancel},
	{"wrong decisions", playWrong},

	{"subscribe while parked", playSubscribe},
	{"disconnect and subscribe again", playDisconnect},
}
