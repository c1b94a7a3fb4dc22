// Package approvaltool has the tools by which an agent asks a person. The tools of [New] have a
// function of the agent itself approved, and request_approval any other action: each is an ordinary
// call that gates, edits, votes, grants and masks apply to, and its result is the decision. ask_user
// asks for information.
//
// The server enforces that the result says approved only of an approved call. That the agent then
// runs its function only so, with these arguments and once, is the agent's word. None of the tools
// authorizes the call of another tool: a gated tool needs an approval of that very call.
package approvaltool
