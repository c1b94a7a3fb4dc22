package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// maxElicited limits the questions of a server during a call.
const maxElicited = 16

// maxNote is the length of the reason why a question was declined, in characters.
const maxNote = 200

// asker asks the server's questions on behalf of the only running call, to which they belong.
// They hold the call ([tool.AskAndWait]).
type asker struct {
	ctx   context.Context //nolint:containedctx // of the call; ends with it
	where string
	slot  chan struct{} // capacity 1: a call asks a question at a time

	n    atomic.Int64           // questions so far
	note atomic.Pointer[string] // the reason why a question was declined unasked
}

// elicit answers elicitation/create.
func (s *session) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	a := s.asker.Load()
	if a == nil { // no running call, so no person to ask
		return decline(), nil
	}
	return a.ask(ctx, r.Params), nil
}

func decline() *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }

// ask asks people a question of the server. ctx ends when the server does not wait for the
// answer any longer.
func (a *asker) ask(ctx context.Context, p *mcp.ElicitParams) *mcp.ElicitResult {
	ask, err := askOf(p, a.where)
	if a.n.Add(1) > maxElicited {
		err = fmt.Errorf("it has asked %d in this call already, which is the limit", maxElicited)
	}
	if err != nil {
		a.decline(err)
		return decline()
	}
	both, end := context.WithCancelCause(a.ctx)
	defer end(nil)
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer stop()
	select {
	case a.slot <- struct{}{}:
		defer func() { <-a.slot }()
	case <-both.Done():
		return &mcp.ElicitResult{Action: "cancel"}
	}
	answer, err := tool.AskAndWait(both, ask) //nolint:contextcheck // it is for the call, and ends with ctx, too
	switch {
	case errors.Is(err, tool.ErrNoAnswer):
		a.decline(err)
		return decline()
	case err != nil:
		return &mcp.ElicitResult{Action: "cancel"}
	}
	return response(answer)
}

// decline keeps why a question was declined.
func (a *asker) decline(why error) {
	note := declinedNote + ": " + visible.Clip(why.Error(), maxNote)
	a.note.Store(&note)
}

func (a *asker) noted() string {
	if note := a.note.Load(); note != nil {
		return *note
	}
	return ""
}
