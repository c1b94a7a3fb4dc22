package interop

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// A world is what a case is played in.
type world struct {
	client // the one that is tested
	official
	server *server
}

// TestEndToEnd prepares everything once, and runs all tests with it.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	if *playMatrix {
		t.Run("matrix", func(t *testing.T) { testMatrix(t, p) })
	}
	t.Run("clients", func(t *testing.T) { t.Parallel(); testClients(t, p) })
	t.Run("Python SDK", func(t *testing.T) { t.Parallel(); testPythonTranscripts(t, p) })
	t.Run("agents", func(t *testing.T) { t.Parallel(); testAgents(t, p) })
	t.Run("agents of 0.3", func(t *testing.T) { t.Parallel(); testAgents03(t, p) })
	t.Run("samples", func(t *testing.T) { t.Parallel(); testSamples(t, p) })
	t.Run("adk run", func(t *testing.T) { t.Parallel(); testADKRun(t, p) })
	t.Run("agent tool", func(t *testing.T) { t.Parallel(); testAgentTool(t, p) })
	t.Run("delegation", func(t *testing.T) { t.Parallel(); testDelegation(t, p) })
	t.Run("MCP servers", func(t *testing.T) { t.Parallel(); testMCP(t, p) })
	t.Run("MCP servers of others", func(t *testing.T) { t.Parallel(); testOthersMCP(t, p) })
	t.Run("waiting", func(t *testing.T) { t.Parallel(); testWaiting(t, p) })
	t.Run("issuers of tokens", func(t *testing.T) { t.Parallel(); testIssuers(t, p) })
	t.Run("by hand", func(t *testing.T) { t.Parallel(); testByHand(t, p) })
	t.Run("curl", func(t *testing.T) { t.Parallel(); testCurl(t, p) })
	t.Run("restart", func(t *testing.T) { t.Parallel(); testRestart(t, p) })
}

// testClients plays every case with every official client, each SDK with an API key of
// its own, against one server, all at once. Then the server is killed, and all come back to
// the next one.
func testClients(t *testing.T, p programs) {
	folder, data := t.TempDir(), t.TempDir()
	keys, config := filepath.Join(folder, "keys.yaml"), filepath.Join(folder, "config.yaml")
	text := fmt.Sprintf(`auth: {keys: {file: %q}}
grpc: {listen: "127.0.0.1:0"}
push: {enabled: true, allow_http: true, allow_loopback: true}
tools: [{builtin: demo, for: {roles: [requester]}}]
`, keys)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := officials()
	key := map[string]string{}
	for i, o := range all {
		if key[o.of] == "" {
			key[o.of] = addKey(t, p, keys, o.of)
		}
		all[i].key = key[o.of]
	}
	s := start(t, p.server, data, "--config", config)
	worlds := map[official]world{}
	for _, o := range all {
		worlds[o] = world{client: o.connect(t, p, s.url), server: s, official: o}
	}
	t.Run("cases", func(t *testing.T) {
		for o, w := range worlds {
			t.Run(o.id(), func(t *testing.T) {
				t.Parallel()
				for _, tc := range cases {
					if tc.play == nil || o.gap(tc.name) != "" {
						continue
					}
					t.Run(tc.name, func(t *testing.T) {
						t.Parallel()
						ctx, cancel := deadline(t)
						defer cancel()
						tc.play(ctx, t, w)
					})
				}
			})
		}
	})
	playKilled(t, worlds, s, func() *server { return start(t, p.server, data, "--config", config) })
}

// officials returns every official client on every binding in every version that it has.
func officials() []official {
	var all []official
	for _, of := range []string{"go", "cli", "js", "python"} {
		for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC} {
			all = append(all, official{of: of, version: a2a.Version, binding: binding})
			if of != "cli" { // it takes the version that the card has first
				all = append(all, official{of: of, version: a2av0.Version, binding: binding})
			}
		}
	}
	return all
}

// An official client on one binding in one version.
type official struct {
	of      string
	version a2a.ProtocolVersion
	binding a2a.TransportProtocol
	key     string
}

// id names the client.
func (o official) id() string {
	binding := map[a2a.TransportProtocol]string{a2a.TransportProtocolJSONRPC: "jsonrpc", a2a.TransportProtocolHTTPJSON: "rest", a2a.TransportProtocolGRPC: "grpc"}[o.binding]
	return o.of + "-" + binding + "-" + string(o.version)
}

// connect returns the client.
func (o official) connect(t *testing.T, p programs, url string) client {
	t.Helper()
	switch o.of {
	case "go":
		return &sdkClient{url: url, binding: o.binding, version: o.version, resolver: agentcard.NewResolver(&http.Client{}), headers: headers{keyHeader: o.key}}
	case "cli":
		flags := []string{"--svc-param", keyHeader + "=" + o.key}
		// By the card it takes JSON-RPC, which the card names first.
		flags = append(flags, map[a2a.TransportProtocol][]string{
			a2a.TransportProtocolHTTPJSON: {"--transport", "rest"},
			a2a.TransportProtocolGRPC:     {"--transport", "grpc", "--insecure"},
		}[o.binding]...)
		return &cliClient{program: p.cli, url: url, flags: flags, grpc: o.binding == a2a.TransportProtocolGRPC}
	default:
		return startDriven(t, p, url, o)
	}
}

// keyHeader is the header that has an API key.
const keyHeader = "X-API-Key"

// deadline bounds a case, so that a client that waits forever fails it.
func deadline(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 5*time.Minute)
}

// cases are what every client has to be able to do, but for gaps.
var cases = []struct {
	name string
	play func(context.Context, *testing.T, world) // nil: playKilled does it
}{
	{"agent card", playCard},
	{"extended agent card", playExtended},
	{"answer without a task", playDirect},
	{"call", playCall},
	{"stream", playStream},
	{"send and return at once", playImmediate},
	{"same message twice", playTwice},
	{"unknown task", playUnknown},
	{"task that has ended", playEnded},
	{"history", playHistory},
	{"list", playList},
	{"push", playPush},
	{"set a webhook", playSetWebhook},
	{"list webhooks", playListWebhooks},
	{"delete a webhook", playDeleteWebhook},

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
	{"server killed in a stream", nil},
	{"server killed while parked", nil},
}

// gaps are the cases that a client cannot play, and why. An empty field stands for all.
var gaps = []struct {
	of       []string
	bindings []a2a.TransportProtocol
	version  a2a.ProtocolVersion
	cases    []string
	why      string
}{
	{version: a2av0.Version, cases: []string{"subscribe while parked"}, why: "streams end where the task waits"},
	{bindings: []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC}, version: a2av0.Version, cases: []string{"list"}, why: "not in this version"},
	{of: []string{"js", "python"}, bindings: notJSONRPC, version: a2av0.Version, cases: []string{"list"}, why: "not in the SDK"},
	{
		of: []string{"python"}, bindings: []a2a.TransportProtocol{a2a.TransportProtocolHTTPJSON}, version: a2av0.Version,
		cases: []string{"list webhooks", "delete a webhook"}, why: "not in the SDK",
	},
	{
		of: []string{"js"}, bindings: notJSONRPC, version: a2av0.Version,
		cases: []string{"stream", "disconnect and subscribe again", "server killed in a stream"}, why: "loses which chunks are appended",
	},
	{of: []string{"js"}, bindings: notJSONRPC, version: a2av0.Version, cases: []string{"pause"}, why: "loses the metadata of parts"},
	{of: []string{"cli"}, cases: []string{"push", "set a webhook", "list webhooks", "delete a webhook"}, why: "sends no webhook"},
	{
		of: []string{"cli"}, bindings: []a2a.TransportProtocol{a2a.TransportProtocolGRPC},
		cases: []string{"extended agent card"}, why: "calls gRPC at the address of the card",
	},
}

var notJSONRPC = []a2a.TransportProtocol{a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC}

// gap returns why the client cannot play a case, "" when it can.
func (o official) gap(name string) string {
	for _, g := range gaps {
		if (g.of == nil || slices.Contains(g.of, o.of)) && (g.bindings == nil || slices.Contains(g.bindings, o.binding)) &&
			(g.version == "" || g.version == o.version) && slices.Contains(g.cases, name) {
			return g.why
		}
	}
	return ""
}
