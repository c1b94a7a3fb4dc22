// Package stack sizes the stacks of goroutines.
package stack

// room is what a turn, a tool or a call of gRPC needs, in bytes.
const room = 6 << 10

// Grow gives the stack of a new goroutine the size that it will need anyway. Otherwise the
// runtime doubles it step by step, and copies more and more frames each time.
//
//go:noinline
func Grow() {
	var frame [room]byte
	occupy(&frame)
}

//go:noinline
func occupy(*[room]byte) {}
