// Package agentcard has what the operator of a server and its program say in the agent card:
// a [Card]. It does not know how a card is made or served.
package agentcard
