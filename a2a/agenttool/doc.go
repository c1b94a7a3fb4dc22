// Package agenttool offers a remote agent, known by its A2A card, as a tool. A call sends a
// message to the agent, follows the task that the agent makes of it (the child), passes its
// chunks on, and returns its text and data.
//
//	checkpoint → send → checkpoint (child's id) → follow → final state: the result
//	                                            → question: suspended until it is answered, here
//	                                              or at the agent → answer → follow → …
//
// It speaks A2A 1.0 and 0.3 over JSON-RPC and HTTP+JSON, over the interface that the card lists
// first. The agent is not trusted: its card and interfaces are of one origin, its texts are data,
// its credential is that of the configuration and never the caller's.
//
// # After a crash
//
// The call continues with the child whose id is in its checkpoint. If the process died between
// the message and the id, the child is looked for by the context that the message named, and by
// the id of the message: <task>.<call>.<attempt>. Without it the outcome is unknown. An answer is
// in a checkpoint before it is sent, and is sent again if the child still asks.
//
// # Questions
//
// The shapes are those of package dialect. A question of the child is asked here with what it
// shows, on the terms of the call's own approval, and asked again by the same id as long as the
// child asks the same. An answer that was given at the agent closes it here.
//
// The package knows neither the engine nor the configuration file.
package agenttool
