package dialect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
	"a2a-server/tool"
)

// A status names the decisions for which agents wait, in words and in the extension, from which another
// server reads the same.
func TestWaitingRoundTrip(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	bank := tool.Waiting{ID: "bank/t.a1", Agent: "bank", WaitsFor: "finance", Since: since, Expires: since.Add(time.Hour)}
	travel := tool.Waiting{ID: "travel/t.a2", Agent: "travel", WaitsFor: "somebody", Since: since}
	away := transfer()
	away.Waits = approval.WaitsWorking
	for name, tt := range map[string]struct {
		pending   []*approval.Approval
		elsewhere []tool.Waiting
		want      string // in the text
		read      int
	}{
		"an agent":          {nil, []tool.Waiting{bank}, "bank waits for finance until 2026-11-21T11:00:00.000Z; the result follows by itself.", 1},
		"two agents":        {nil, []tool.Waiting{travel, bank}, "travel waits for somebody, and bank waits for finance until", 2},
		"beside a call":     {[]*approval.Approval{away}, []tool.Waiting{travel}, ", and travel waits for somebody; the result follows by itself.", 2},
		"beside a client":   {[]*approval.Approval{transfer()}, []tool.Waiting{travel}, "\n\ntravel waits for somebody; the result follows by itself.\n\n", 1},
		"of unknown people": {nil, []tool.Waiting{{ID: "x/1", Agent: "x\u202e"}}, `x\u202e waits for another person; the`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := presenter().Waiting(tt.pending, tt.elsewhere, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Parts[0].Text(); !strings.Contains(got, tt.want) {
				t.Errorf("it says %q, want %q", got, tt.want)
			}
			read := dialect.ReadWaiting(m)
			if len(read) != tt.read || name == "an agent" && cmp.Diff(tt.elsewhere, read) != "" {
				t.Errorf("another server reads %+v, want %+v", read, tt.elsewhere)
			}
		})
	}
}

// A message that says nothing usable is no wait, and a long list is cut.
func TestReadWaitingOfStrangers(t *testing.T) {
	t.Parallel()
	said := func(v any) *a2a.Message {
		m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("x"))
		m.SetMeta(dialect.URI, v)
		return m
	}
	list := func(elsewhere ...any) map[string]any {
		return map[string]any{"type": "approval_request", "approvals": []any{}, "elsewhere": elsewhere}
	}
	var many []any
	for i := range 100 {
		many = append(many, map[string]any{"id": fmt.Sprint(i), "since": "2026-11-21T10:00:00Z"})
	}
	for name, tt := range map[string]struct {
		message *a2a.Message
		want    int
	}{
		"no message":     {nil, 0},
		"no extension":   {a2a.NewMessage(a2a.MessageRoleAgent), 0},
		"another type":   {said(map[string]any{"type": "x", "elsewhere": many}), 0},
		"no object":      {said("elsewhere"), 0},
		"no id":          {said(list(map[string]any{"since": "2026-11-21T10:00:00Z"})), 0},
		"no time":        {said(list(map[string]any{"id": "1", "since": "soon"})), 0},
		"too many":       {said(list(many...)), tool.MaxWaits},
		"a client's own": {said(list()), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := dialect.ReadWaiting(tt.message); len(got) != tt.want {
				t.Errorf("ReadWaiting() = %+v, want %d", got, tt.want)
			}
		})
	}
}
