// Package agent is what a tool sees of the agent that it runs for: the contexts
// that it is called with, the state and the artifacts that it may use, the content
// that started the work.
//
// It only defines the vocabulary. Whatever runs tools implements the interfaces; tests and
// programs that embed tools may do so too. It imports no other package of this module and
// no protocol: a [Part] is not an A2A part, though each converts to the other without
// loss.
package agent
