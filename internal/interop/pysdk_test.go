package interop

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

// testPythonTranscripts records what the client sends and gets on each binding: a
// transfer is asked for in a stream, and decided by the extension.
func testPythonTranscripts(t *testing.T, p programs) {
	for name, binding := range map[string]a2a.TransportProtocol{"jsonrpc": a2a.TransportProtocolJSONRPC, "rest": a2a.TransportProtocolHTTPJSON} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := deadline(t)
			defer cancel()
			tape, s := recorded(t, p)
			c := startDriven(t, p, tape.url, official{of: "python", version: a2a.Version, binding: binding})
			for _, conversation := range conversations {
				if conversation.typed {
					continue
				}
				before := len(s.transfers(t))
				tr := &transcript{tape: tape}
				var told story
				for _, step := range conversation.turns {
					tr.person(step.String())
					if step.Say != nil {
						m := a2a.NewMessage(a2a.MessageRoleUser)
						for _, said := range step.Say {
							m.Parts = append(m.Parts, a2a.NewTextPart(said))
						}
						told.tell(t, c.stream(ctx, &a2a.SendMessageRequest{Message: m}))
					} else {
						task := get(ctx, t, c, told.task)
						var decisions []any
						for i, q := range questions(t, task) {
							verb := map[bool]string{true: "approve", false: "reject"}[step.Answer[i]]
							decisions = append(decisions, decision(q.ID, verb, map[string]any{"digest": q.Digest}))
						}
						send(ctx, t, c, answer(task, decisions...))
					}
					tr.wire(t)
				}
				tr.check(t, "a2a-sdk-python", conversation.name+"-"+name)
				if diff := cmp.Diff(conversation.runs, s.transfers(t)[before:]); diff != "" {
					t.Errorf("%s: transfers (-want +got):\n%s", conversation.name, diff)
				}
			}
		})
	}
}
