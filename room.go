package a2aserver

import "a2a-server/internal/app/config"

// ownFiles is how many descriptors are kept for everything but connections.
const ownFiles = 64

// room holds the configured limits, lowered to what fits the process.
type room struct {
	files       int // how many the process may have open; 0: not known
	connections int
	streams     int
}

// fit returns the room of a process that may have files open at once.
func fit(l config.Limits, files int) room {
	connections := l.Connections
	if files > 0 {
		connections = min(connections, max(files-ownFiles, files/4, 1))
	}
	// A quarter is reserved for requests that are answered at once.
	most := func(n int) int { return max(1, n-n/4) }
	return room{files: files, connections: connections, streams: min(l.Streams, most(connections), most(l.Requests))}
}

// within returns how many bytes answers, or requests, may take: the configured number, but
// at most a quarter of the process's memory.
func within(configured, memory int64) int64 { return min(configured, max(memory/4, 1<<20)) }
