package dialect

import "github.com/a2aproject/a2a-go/v2/a2a"

// The URIs of the supported extensions.
const (
	// URI names our extension, the only extension with everything about an approval.
	URI = "urn:a2a-server:extension:tool-approval:v1"
	// KagentURI names kagent's human-in-the-loop extension.
	KagentURI = "https://kagent.dev/extensions/hitl/v1"
	// ADKURI is the metadata key that marks tasks and updates for ADK's clients.
	ADKURI = "https://google.github.io/adk-docs/a2a/a2a-extension/"
)

// Extensions returns the extensions for the agent card. None is required: clients may
// answer an approval in any dialect. The caller owns the slice.
func Extensions() []a2a.AgentExtension {
	return []a2a.AgentExtension{
		{
			URI: URI,
			Description: "Approval of tool calls: an input-required status lists the pending approvals in its message's metadata, " +
				"and a message with an approval_response decides them.",
		},
		{
			URI:         KagentURI,
			Description: "Approval of tool calls and questions to the user, as kagent exchanges them.",
		},
		{
			URI:         ADKURI,
			Description: "Confirmation of tool calls by function calls and function responses in data parts, as ADK exchanges them.",
		},
	}
}
