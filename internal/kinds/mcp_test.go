//go:build unix

package kinds_test

// serveMCP is the process of an MCP server over stdio that pays into a ledger.
func serveMCP(string) int { return 0 }
