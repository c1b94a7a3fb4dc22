// Package api is the approvals API: what people and programs other than the A2A client do
// with approvals, tasks and the audit. [Service] has the operations, [Handler] serves them
// below /api/v1 as openapi.json describes, to the network and to the admin socket alike.
//
// It owns the shapes of the API, which package client defines, and its errors. Who may do
// what, and what a decision does, is up to the engine.
package api
