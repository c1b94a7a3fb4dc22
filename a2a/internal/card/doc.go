// Package card makes the agent card of a server: the operator's [agentcard.Card]
// with interfaces, capabilities and security as the server has them, signatures, and the
// members of A2A 0.3. [Cards] has the card for every client, and the extended card for each
// caller. It does not know how a card is served.
package card
