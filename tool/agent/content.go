package agent

import "time"

// Content is one message of a conversation.
type Content struct {
	Role  string // "user" or "agent"
	Parts []Part
}

// Part is one piece of a [Content]. Exactly one of Text, Data, Raw and URL is
// meant to be set.
type Part struct {
	Text      string
	Data      any    // a JSON value
	Raw       []byte // a file, inline
	URL       string // a file, elsewhere
	Filename  string
	MediaType string
	Metadata  map[string]any
}

// MemorySearchResponse is what a search of the agent's memory found, best first.
type MemorySearchResponse struct {
	Results []MemoryResult
}

// MemoryResult is one thing that the agent remembers.
type MemoryResult struct {
	Content  string
	Author   string
	Score    float64 // greater is better; comparable within one response only
	Time     time.Time
	Metadata map[string]any
}
