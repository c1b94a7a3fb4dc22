// Package approvaltool has the tools by which an agent asks a person: request_approval,
// for a yes or no to something that it intends to do, and ask_user, for information.
//
// Neither authorizes a tool call: what a gated tool needs is an approval of that very
// call, whatever was answered here before. Each question is asked once. A call ends when
// it is answered, rejected or overdue, and its result says so; what to make of that is
// up to the agent.
package approvaltool
