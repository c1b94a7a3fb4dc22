// Package mcptoolset offers the tools of one MCP server as a toolset.
//
// It owns the connection to the server: a child process, an HTTP endpoint or a stream. It
// connects at the first use, connects again with backoff after the connection is lost, and
// keeps the last listing, so that the tools of a server that is down are down and not gone.
//
//	not connected → connecting → connected → lost → (backoff) → connecting → …
//
// A server is not trusted. Only tools that [Config].Only names are offered. A server's
// statements about effects are shown to people as claims, and believed only for the tools in
// Trust. Descriptions are shortened and their invisible characters escaped; instructions are
// dropped. The server learns neither caller nor credential, and is offered none of the
// abilities of a client: no sampling, no roots, no logging, and no elicitation unless
// [Config].Ask says so.
//
// # Calls
//
// Before each call the toolset makes sure that the server still lists the tool as it was
// looked up; otherwise the call fails and nothing is sent. A request that was written and has
// no answer is [tool.ErrOutcomeUnknown]; a request of which nothing was written has failed.
//
// # Questions of a server
//
// With [Config].Ask, a server that answers a call with questions (an input-required result of
// MCP 2026-07-28) suspends the call: people answer, possibly after a restart, and the call is
// sent again with their answers. The questions that older servers ask while a call runs
// (elicitation/create) hold the call, because the server waits for the answer
// ([tool.AskAndWait]): people answer as long as the call and the connection live. A server
// that speaks MCP 2026-07-28, too, can ask in this way only with [Config].Handshake. A
// question is declined, and the result of the call says why, if it is not a form that can be
// shown, if the call has asked too many, or if no person can be asked now. Answers are input
// for the server and never authorize anything here.
//
// The package knows neither the engine nor the configuration file.
package mcptoolset
