// Package interop drives the server, as a separate program, with clients from other projects:
// the SDKs of A2A for Go, JavaScript and Python, the Go SDK's command line, curl, and agent
// frameworks that speak A2A: Google's ADK for Python and for Go and Microsoft's Agent
// Framework, and, in version 0.3 only, BeeAI, CrewAI, Strands, Google's ADK for JavaScript and
// a2a-ai-provider. It is a separate module, so that the dependencies of these clients stay out
// of the server, and it uses no package of the server: it knows only what any client knows.
// ADK for Go has so many dependencies that it has its own module (adkgo).
//
// Every official client of A2A runs its part of a table of cases (clients_test.go), with an
// API key, on each of its bindings and versions. gaps in clients_test.go lists the gaps of
// each client, and docs/clients.md repeats them. The frameworks hold conversations
// (agents_test.go): a user asks for a transfer and approves or rejects it. The recorded
// traffic is compared with the transcripts in testdata/transcripts of the repository, where
// ids, times and digests have other names; `make interop INTEROPFLAGS=-update` writes them
// again.
//
// While another person decides, an agent waits: the samples of examples/clients and each client do
// so in every run (matrix_test.go), in each state, for longer and over a restart with `make matrix`,
// which writes the table of docs/clients.md. A stub answers for the agents' models.
//
// MCP servers of npm and PyPI are tools of the server in mcpservers_test.go: two of them in
// every run, and all, including a browser, with `make mcp`.
//
// Tokens for the callers come from a third-party OpenID Connect provider (idp/idp.mjs), which
// runs as a separate process.
//
// Clients and the provider are installed by the tests, from locks with the hash of every
// package: */package-lock.json and python/*/requirements.txt, which python/lock writes. Python
// packages stay in the cache of the user. The tests need go, node 20 or newer with
// npm, Python 3.11 or newer with pip, git and curl; they fail with a clear message if a program
// is missing.
package interop
