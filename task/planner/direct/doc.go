// Package direct is the planner for messages that name the calls to make: the default,
// intended for agents that delegate and for people who type. It knows three ways to write a
// call, and ends the task when the calls are done, or asks for the input that they require
// (agent.EventActions). A message without a call is answered with the list of tools, and
// creates no task.
//
// # Calls
//
// Each part of a message uses at most one of these:
//
//   - a data part {"tool": name, "args": {…}}; "arguments" is an alias of
//     "args", and "id" is an optional id that the caller chooses for the call: unique in
//     the message, and not in the form of this server's ids, such as c1.2 or anything
//     that ends in .a1. Several calls in one part are {"calls": [{"tool": …}, …]};
//   - a data part with the metadata adk_type = function_call, as ADK's agents write
//     it: {"id": …, "name": …, "args": {…}};
//   - a text part that begins with a slash: /tool key=value key2="quoted value",
//     /tool {"key": …}, or, for a tool with exactly one required argument that is a
//     string, /tool the rest of the text.
//
// Several parts are several calls of one step, in order. Other text and data are ignored.
//
// In key=value, the value is JSON if it is valid JSON, else a string. An argument that the
// schema declares to be a string stays a string: to=007 is "007".
//
// # Mistakes
//
// If a call in a known shape cannot be read, or a text that begins with a slash names no tool,
// the answer describes the mistake and lists the tools; nothing of the message is run. If a
// data part names a tool that does not exist, or has invalid arguments, a task is created, and
// the error is the result of the call.
package direct
