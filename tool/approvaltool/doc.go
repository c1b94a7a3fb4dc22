// Package approvaltool has the tools by which an agent asks a person: request_approval, for a
// yes or no to a planned action, and ask_user, for information.
//
// Neither authorizes a tool call: a gated tool needs an approval of that very call, whatever
// the answer here. Each question is asked once. A call ends when it is answered, rejected or
// overdue, and its result says so; the agent decides what follows.
package approvaltool
