package agent

import "time"

// Content is a message of a conversation.
type Content struct {
	Role  string // "user" or "agent"
	Parts []Part
}

// Part is a piece of a [Content]. Exactly one of Text, Data, Raw and URL should be set.
type Part struct {
	Text      string
	Data      any    // a JSON value
	Raw       []byte // a file, inline
	URL       string // a file, elsewhere
	Filename  string
	MediaType string
	// Metadata is published with the part, without the marks of the server's own questions
	// (see package toolconfirmation, IsMark).
	Metadata map[string]any
}

// Memory is the memory of an agent. It is safe for concurrent use.
type Memory interface {
	// Search returns the entries that match a call's query, best first, as far as ctx may see
	// them.
	Search(ctx ReadonlyContext, query string) (*MemorySearchResponse, error)
}

// MemorySearchResponse lists the results of a search of the agent's memory, best first.
type MemorySearchResponse struct {
	Results []MemoryResult
}

// MemoryResult is an entry of the agent's memory.
type MemoryResult struct {
	Content  string
	Author   string
	Score    float64 // higher is better; comparable only within one response
	Time     time.Time
	Metadata map[string]any
}
