package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// The votes about a call do not take the room that its run needs.
func TestVotesLeaveRoom(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) {
		smallLog(r)
		r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 10}})
	}, &fake{name: "pay", schema: map[string]any{"type": "object"}})
	raw, err := json.Marshal(map[string]any{"memo": strings.Repeat("x", 20_000)})
	if err != nil {
		t.Fatal(err)
	}
	k.begin(task.PlannedCall{Tool: "pay", Args: raw})
	k.wantState(a2a.TaskStateInputRequired)
	t.Logf("asked: %d bytes of %d", k.header.Bytes, k.rules.Limits.Task)
	for n := range 10 {
		k.vote(1, voter(fmt.Sprint("p", n)), approval.Approve, "")
		t.Logf("vote %d: %d bytes", n+1, k.header.Bytes)
	}
	k.wantEntries(1)
	if n := int(k.header.Bytes); n > k.rules.Limits.Task {
		t.Errorf("the log has %d bytes; at most %d are allowed", n, k.rules.Limits.Task)
	}
}
