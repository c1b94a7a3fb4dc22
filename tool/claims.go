package tool

// Claimant is a tool that passes on claims about it by a third party, such as an MCP server.
// Claims are shown to people and never believed: they are neither [Annotations] nor part of
// the digest. It is looked up with [As].
type Claimant interface {
	// Claims are short phrases, such as "read-only" or "destructive".
	Claims() []string
}
