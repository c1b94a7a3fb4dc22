package tool

// Runs returns the tool of the [Chain] of t that runs: the first that can be called or
// streamed, so that a wrapper's own Call is not passed over. A tool that can do both streams.
// Both results are nil if t can do neither.
func Runs(t Tool) (StreamingTool, CallableTool) {
	for u := range Chain(t) {
		if s, ok := u.(StreamingTool); ok {
			return s, nil
		}
		if c, ok := u.(CallableTool); ok {
			return nil, c
		}
	}
	return nil, nil
}

// Streams reports whether t yields its result in pieces when it runs; see [Runs].
func Streams(t Tool) bool {
	s, _ := Runs(t)
	return s != nil
}
