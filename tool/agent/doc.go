// Package agent defines a tool's view of its agent: the contexts that it is called with, the
// state and artifacts that it may use, and the message that started the turn.
//
// It only defines the vocabulary. The package that runs tools implements the interfaces; tests
// and programs that embed tools may implement them too. It imports no other package of this
// module and no protocol: a [Part] is not an A2A part, though each converts to the other
// without loss.
package agent
