// Package api is the approvals API, by which people and programs other than the A2A client use
// approvals, tasks and the audit. [Service] has the operations, [Handler] serves them below
// /api/v1 as openapi.json describes, to the network and to the admin socket alike.
//
// It owns the shapes of the API, which package client defines, and its errors. The engine
// decides about permissions, and about the effects of a decision.
package api
