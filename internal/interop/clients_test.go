package interop

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// A world is what a case is played in.
type world struct {
	client  // the one that is tested
	server  *server
	version a2a.ProtocolVersion
}

// TestEndToEnd prepares everything once, and runs all tests with it.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	t.Run("clients", func(t *testing.T) { t.Parallel(); testClients(t, p) })
	t.Run("Python SDK", func(t *testing.T) { t.Parallel(); testPythonTranscripts(t, p) })
	t.Run("agents", func(t *testing.T) { t.Parallel(); testAgents(t, p) })
	t.Run("agents of 0.3", func(t *testing.T) { t.Parallel(); testAgents03(t, p) })
	t.Run("samples", func(t *testing.T) { t.Parallel(); testSamples(t, p) })
	t.Run("adk run", func(t *testing.T) { t.Parallel(); testADKRun(t, p) })
	t.Run("delegation", func(t *testing.T) { t.Parallel(); testDelegation(t, p) })
	t.Run("MCP servers", func(t *testing.T) { t.Parallel(); testMCP(t, p) })
	t.Run("elsewhere", func(t *testing.T) { t.Parallel(); testElsewhere(t, p) })
	t.Run("issuers of tokens", func(t *testing.T) { t.Parallel(); testIssuers(t, p) })
	t.Run("by hand", func(t *testing.T) { t.Parallel(); testByHand(t, p) })
	t.Run("curl", func(t *testing.T) { t.Parallel(); testCurl(t, p) })
	t.Run("push", func(t *testing.T) { t.Parallel(); testPush(t, p) })
	t.Run("restart", func(t *testing.T) { t.Parallel(); testRestart(t, p) })
}

// testClients plays every case with every official client, each with an API key of its
// own, against one server, all at once.
func testClients(t *testing.T, p programs) {
	folder := t.TempDir()
	keys, config := filepath.Join(folder, "keys.yaml"), filepath.Join(folder, "config.yaml")
	var all []official
	for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		for _, of := range []string{"go", "cli", "js", "python"} {
			all = append(all, official{of: of, version: a2a.Version, binding: binding})
			switch {
			case of == "cli": // it takes the version that the card has first
			case of == "js" && binding == a2a.TransportProtocolHTTPJSON:
				// Of 0.3 its client loses which chunks are appended, the metadata of parts,
				// and the kind of an error.
			default:
				all = append(all, official{of: of, version: a2av0.Version, binding: binding})
			}
		}
	}
	for i := range all {
		all[i].key = addKey(t, p, keys, all[i].id())
	}
	// The one form of requirements that all three SDKs read.
	text := fmt.Sprintf("auth: {keys: {file: %q}}\ncard: {security_form: go}\ntools: [{builtin: demo, for: {roles: [requester]}}]\n", keys)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, p.server, t.TempDir(), "--config", config)
	for _, o := range all {
		c := o.connect(t, p, s.url)
		t.Run(o.id(), func(t *testing.T) {
			t.Parallel()
			for _, tc := range cases {
				if tc.since == a2a.Version && o.version == a2av0.Version {
					continue
				}
				t.Run(tc.name, func(t *testing.T) {
					t.Parallel()
					ctx, cancel := deadline(t)
					defer cancel()
					tc.play(ctx, t, world{client: c, server: s, version: o.version})
				})
			}
		})
	}
}

// An official client on one binding in one version.
type official struct {
	of      string
	version a2a.ProtocolVersion
	binding a2a.TransportProtocol
	key     string
}

// id names the client, and its key.
func (o official) id() string {
	binding := map[a2a.TransportProtocol]string{a2a.TransportProtocolJSONRPC: "jsonrpc", a2a.TransportProtocolHTTPJSON: "rest"}[o.binding]
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
		if o.binding == a2a.TransportProtocolHTTPJSON { // by the card it takes JSON-RPC, which the card names first
			flags = append(flags, "--transport", "rest")
		}
		return &cliClient{program: p.cli, url: url, flags: flags}
	case "js":
		return &jsClient{node: p.node, script: p.script, url: url, binding: o.binding, version: o.version, key: o.key}
	default:
		return startPython(t, p, url, o.binding, o.version, o.key)
	}
}

// keyHeader is the header that has an API key.
const keyHeader = "X-API-Key"

// deadline bounds a case, so that a client that waits forever fails it.
func deadline(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), time.Minute)
}

// cases are what every client has to be able to do.
var cases = []struct {
	name  string
	play  func(context.Context, *testing.T, world)
	since a2a.ProtocolVersion // that has the operation; "": both
}{
	{name: "agent card", play: playCard},
	{name: "extended agent card", play: playExtended},
	{name: "answer without a task", play: playDirect},
	{name: "call", play: playCall},
	{name: "stream", play: playStream},
	{name: "send and return at once", play: playImmediate},
	{name: "same message twice", play: playTwice},
	{name: "unknown task", play: playUnknown},
	{name: "task that has ended", play: playEnded},
	{name: "history", play: playHistory},
	{name: "list", play: playList, since: a2a.Version},

	{name: "pause", play: playPause},
	{name: "pause in a stream", play: playPauseInStream},
	{name: "approve in every dialect", play: playApprove},
	{name: "edit", play: playEdit},
	{name: "reject", play: playReject},
	{name: "two at once", play: playTwo},
	{name: "cancel", play: playCancel},
	{name: "wrong decisions", play: playWrong},

	// Streams of 0.3 end where the task waits.
	{name: "subscribe while parked", play: playSubscribe, since: a2a.Version},
	{name: "disconnect and subscribe again", play: playDisconnect},
}
