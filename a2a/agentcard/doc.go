// Package agentcard has the operator's and the program's part of the agent card of a server:
// a [Card]. It does not know how a card is made or served.
package agentcard
