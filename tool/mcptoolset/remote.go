package mcptoolset

import (
	"iter"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// remote is a tool of the server. It is immutable.
type remote struct {
	set        *Toolset
	name       string
	definition *definition
	parameters map[string]any
	compiled   *tool.Schema
	digest     string
	approval   bool
	trusted    bool
	changed    string // difference from the pinned definition, "" without
}

// Name implements tool.Tool.
func (r *remote) Name() string { return r.name }

// Description implements tool.Tool.
func (r *remote) Description() string { return r.definition.Description }

// IsLongRunning implements tool.Tool.
func (r *remote) IsLongRunning() bool { return false }

// RequiresApproval implements tool.Tool.
func (r *remote) RequiresApproval() bool { return r.approval || r.changed != "" }

// Schema implements tool.StreamingTool.
func (r *remote) Schema() map[string]any { return r.parameters }

// Identity implements tool.Identified: an approval is for the tool of this server.
func (r *remote) Identity() string { return r.set.identity }

// Reachable implements tool.Reachable.
func (r *remote) Reachable() error { return r.set.reachable() }

// Hint implements tool.Hinter: it tells the approver that the definition has changed.
func (r *remote) Hint(agent.ReadonlyContext, map[string]any) (string, error) {
	if r.changed == "" {
		return "", nil
	}
	return "This tool has changed since it was pinned: " + r.changed + ". Read its description and claims before you approve.", nil
}

// Claims implements tool.Claimant.
func (r *remote) Claims() []string { return r.definition.Hints.claims() }

// Trusted implements tool.Claimant.
func (r *remote) Trusted() bool { return r.trusted }

// Annotations implements tool.Annotated.
func (r *remote) Annotations() tool.Annotations {
	if !r.trusted {
		return tool.Annotations{}
	}
	return r.definition.Hints.annotations()
}

// Timeout implements tool.Timed.
func (r *remote) Timeout() time.Duration { return r.set.cfg.CallTimeout }

// CallStreaming implements tool.StreamingTool.
func (r *remote) CallStreaming(ctx tool.Context, args map[string]any) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) {
		pieces, err := r.set.call(ctx, r, args)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
	}
}
