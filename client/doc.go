// Package client lists, watches and decides the approvals of an a2a-server, over HTTP or over
// the admin socket of the machine that the server runs on. Its types are the JSON of the
// approvals API (docs/approvals-api.md). [Client.SendMessage] alone speaks A2A: what follows a
// message is read with the API, whose streams resume. For other agents, use a client of A2A.
//
// Texts in these types come from callers, agents and tools. They may hold control characters,
// markup and misleading direction marks: escape them before you show them to a person.
package client
