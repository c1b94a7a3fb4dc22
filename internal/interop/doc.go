// Package interop drives the server, as a program of its own, with clients that were
// not written here: the SDKs of A2A for Go, JavaScript and Python, the Go SDK's command
// line, curl, and the frameworks of agents that speak A2A: Google's ADK for Python and for
// Go and Microsoft's Agent Framework, and, in version 0.3 only, BeeAI, CrewAI, Strands,
// Google's ADK for JavaScript and a2a-ai-provider. It is a module of its own, so that
// what those clients need is needed by nobody else, and it uses no package of ours: what
// it knows of the server is what any client knows. ADK for Go brings so much with it that
// it has a module to itself (adkgo).
//
// Every official client of A2A does what it can of one table of cases (clients_test.go),
// with an API key, on each binding and in each version that it has; gaps there says what a
// client cannot do, and docs/clients.md repeats it. The frameworks hold conversations (agents_test.go): somebody asks
// for a transfer and approves or rejects it. What goes over the wire then is compared
// with the transcripts in testdata/transcripts of the repository, where ids, times and
// digests have other names;
// `make interop INTEROPFLAGS=-update` writes them again.
//
// MCP servers of npm and PyPI are tools of the server in mcpservers_test.go: two of them in
// every run, and all, one with a browser, with `make mcp`.
//
// Tokens for the callers are of an OpenID Connect provider of others (idp/idp.mjs), which
// runs as a process of its own.
//
// Clients and the provider are installed by the tests, from locks that name the hash of
// every package: */package-lock.json and
// python/*/requirements.txt, which python/lock writes. Those in Python stay in the cache of
// the user. The tests need go with a C compiler (the server is built with the race
// detector), node 20 or newer with npm, Python 3.11 or newer with pip, git and curl; they fail,
// and say so, where one is missing.
package interop
