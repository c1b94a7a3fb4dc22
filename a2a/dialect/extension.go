package dialect

import "github.com/a2aproject/a2a-go/v2/a2a"

// The URIs of the extensions that this package speaks.
const (
	// URI names our extension, which says all there is to say of an approval.
	URI = "urn:a2a-server:extension:tool-approval:v1"
	// KagentURI names kagent's extension for people in the loop.
	KagentURI = "https://kagent.dev/extensions/hitl/v1"
	// ADKURI marks the metadata of all that ADK's clients are to look into.
	ADKURI = "https://google.github.io/adk-docs/a2a/a2a-extension/"
)

// Extensions returns the entries of the agent card. None is required: an approval can
// be answered in whatever dialect a client speaks. The slice is the caller's.
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
