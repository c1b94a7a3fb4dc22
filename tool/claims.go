package tool

// Claimant is a tool that passes on what somebody else, such as an MCP server, says about
// it. Claims are shown to people and never believed: they are neither [Annotations] nor
// part of the digest. It is looked up with [As].
type Claimant interface {
	// Claims are short phrases, such as "read-only" or "destructive".
	Claims() []string
}
