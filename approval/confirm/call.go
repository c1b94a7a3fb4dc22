package confirm

import (
	"crypto/sha256"

	"a2a-server/internal/strictjson"
)

// Call is a call of a tool that may need confirmation. Only ToolName and Params are required.
type Call struct {
	ToolName    string
	Description string         // of the tool, in its own words
	ToolCallID  string         // unique in its task; "": none
	Params      map[string]any // the arguments, as decoded JSON
	Hint        string         // explains the question to a person
	// Question says that the running tool asks, with Hint and Payload: its call was confirmed
	// before.
	Question bool
	Payload  any
	NoModify bool // only the arguments that are shown can run

	Requester  string // identifies the requester, with its tenant and the parties that act for it
	Context    string // id of the conversation
	Definition string // digest of the tool's definition
	Terms      string // what the gates that ask demand of the approval

	// Values are resources of the request, such as a connection to its user, for policies, UIs
	// and strategies: Haystack's confirmation_strategy_context.
	Values map[string]any
}

// key is equal for two calls only if everything that a confirmation depends on is equal.
func (c *Call) key() ([32]byte, error) {
	text, err := strictjson.Canonical(map[string]any{
		"requester": c.Requester, "context": c.Context, "tool": c.ToolName, "definition": c.Definition, "terms": c.Terms, "params": params(c.Params),
	})
	return sha256.Sum256(text), err
}

// params returns arguments that are never nil, which JSON would write as null.
func params(p map[string]any) map[string]any {
	if p == nil {
		return map[string]any{}
	}
	return p
}
