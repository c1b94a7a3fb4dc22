// Package direct is the planner for messages that name the calls they want
// themselves: the default, made for agents that delegate and for people who type.
// It knows three ways to write a call, reads them, and ends the task when the calls
// are done; it never asks anything. A message without a call is answered with the
// list of tools, and makes no task.
//
// # Calls
//
// Each part of a message holds at most one way to call:
//
//   - a data part {"tool": name, "args": {…}}; "arguments" is another name of
//     "args", and "id" is an id of the caller's own for the call, which no other call
//     of the message may have and which may not look like one of this server's, such as
//     c1.2 or what ends in .a1. Several calls in one part are {"calls": [{"tool": …}, …]};
//   - a data part with the metadata adk_type = function_call, as ADK's agents write
//     it: {"id": …, "name": …, "args": {…}};
//   - a text part that begins with a slash: /tool key=value key2="quoted value",
//     /tool {"key": …}, or, for a tool with exactly one required argument that is a
//     string, /tool the rest of the text.
//
// Several parts are several calls of one step, in their order. Text and data beside
// them are ignored.
//
// In key=value, a value is taken as JSON when it is JSON, else as a string. What the
// schema declares to be a string stays one: to=007 is "007".
//
// # Mistakes
//
// A call in a known shape that cannot be read, and a text that begins with a slash
// and names no tool, are answered with what is wrong and the list of tools; then
// nothing of the message is run. A data part may name a tool that does not exist, or
// wrong arguments: that makes a task, and the mistake is the result of the call.
package direct
