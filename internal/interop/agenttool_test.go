package interop

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/google/go-cmp/cmp"
)

// testAgentTool has one of our servers use an agent of ADK's to_a2a as a tool, which delegates to
// another of our servers. The bank's question comes to the first server, and its answer to the bank.
// Without the bank ADK says that its task is completed; the call has failed all the same.
func testAgentTool(t *testing.T, p programs) {
	bank := start(t, p.server, t.TempDir())
	outer := serveOuter(t, p, "one", bank.url, bank.url)()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	config := fmt.Sprintf("tools:\n  - agent: office\n    card: %s/.well-known/agent-card.json\n    networks: [127.0.0.0/8]\n    approve: false\n", outer.url)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	top := start(t, p.server, t.TempDir(), "--config", file)
	client := &sdkClient{url: top.url, binding: a2a.TransportProtocolJSONRPC, resolver: agentcard.NewResolver(&http.Client{})}
	ctx, cancel := deadline(t)
	defer cancel()

	yes := send(ctx, t, client, text("/office /transfer_money amount=5 to=left"))
	no := send(ctx, t, client, text("/office /transfer_money amount=6 to=left"))
	done := send(ctx, t, client, confirm(t, yes, true))
	wantState(t, done, a2a.TaskStateCompleted)
	if said := artifactText(t, done); !strings.Contains(said, "transferred") {
		t.Errorf("the task says %q, want what was transferred in it", said)
	}
	send(ctx, t, client, confirm(t, no, false))
	if diff := cmp.Diff([]transfer{{5, "left"}}, bank.transfers(t)); diff != "" {
		t.Errorf("transfers of the bank (-want +got):\n%s", diff)
	}
	bank.kill(t)
	wantState(t, send(ctx, t, client, text("/office /transfer_money amount=7 to=left")), a2a.TaskStateFailed)
}
