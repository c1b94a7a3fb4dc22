package direct

import (
	"context"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// MaxCalls is the maximum number of calls in a message.
const MaxCalls = 64

// Config configures a [Planner]. The zero value is ready to use.
type Config struct {
	// NewID returns ids for direct messages. It must be safe for concurrent use.
	// Defaults to random UUIDs.
	NewID func() string
	// Approval reports whether every call of a tool has to be approved, for the list of tools.
	// It must be safe for concurrent use. Defaults to the tool's own declaration.
	Approval func(t tool.Tool) bool
}

// Planner is the planner that the package comment describes. It is safe for concurrent
// use, and Plan is a pure function.
type Planner struct {
	newID    func() string
	approval func(t tool.Tool) bool
}

var _ interface {
	task.Planner
	task.Accepter
	task.InlinePlanner
} = (*Planner)(nil)

// New returns a planner.
func New(c Config) *Planner {
	p := &Planner{newID: c.NewID, approval: c.Approval}
	if p.newID == nil {
		p.newID = uuid.NewString
	}
	if p.approval == nil {
		p.approval = tool.Tool.RequiresApproval
	}
	return p
}

// Inline returns true.
func (p *Planner) Inline() bool { return true }

// Accept returns nil for a message that names calls, else an answer that describes the
// mistake, lists the tools, and shows how to call a tool.
func (p *Planner) Accept(_ agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	calls, problems := read(r.Message, r.Tools)
	if len(calls) > 0 && len(problems) == 0 {
		r.First = &task.Step{Calls: calls}
		return nil, nil
	}
	m := &a2a.Message{ID: p.newID(), Role: a2a.MessageRoleAgent, Parts: p.listing(r.Tools, problems)}
	if r.Message != nil {
		m.ContextID = r.Message.ContextID
	}
	return m, nil
}

// Plan returns the calls of the first message as the first step. If any of them requires input
// (agent.EventActions), the next step asks the user for it, and the calls that the answer
// names, if any, are another step. The last step is the end of the task: canceled if every
// call was rejected, canceled or expired, failed if no call succeeded for other reasons, else
// completed. The final message lists each call that did not succeed. An error means that the
// message no longer names a call: the tools, or this package, have changed since it was
// accepted.
func (p *Planner) Plan(_ context.Context, progress *task.Progress) (*task.Step, error) {
	if len(progress.Steps) > 0 {
		return p.next(progress), nil
	}
	if len(progress.Messages) == 0 {
		return nil, fmt.Errorf("plan task %s: it has no message", progress.Task)
	}
	calls, problems := read(progress.Messages[0].Message, progress.Tools)
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("the tools, or the rules for messages, have changed since the message came: %s", strings.Join(problems, "; "))
	case len(calls) == 0:
		return nil, fmt.Errorf("plan task %s: its message names no call", progress.Task)
	}
	return &task.Step{Calls: calls}, nil
}
