// Package commandtool makes tools from commands of the operating system. A tool either runs a
// configured command, whose arguments a call fills in, or any command of an allow list.
//
// There is never a shell. A command is a list of arguments, and a caller's text can neither
// add arguments nor change others:
//
//   - A placeholder, {name}, is part of a single argument. Whatever its value contains, spaces,
//     quotes or line breaks, it is never split, expanded or interpreted.
//   - A value that begins with "-" is refused at the start of an argument, where it would
//     be read as an option, unless the argument follows "--" or the value is from an enum that
//     the operator wrote.
//   - File arguments have to be in the tool's folder, also after all symbolic links.
//   - The environment is exactly as in the [Config]. Nothing of the server's own reaches the
//     command.
//
// Every call has to be approved unless the Config says otherwise.
//
// # Output and outcome
//
// The output of a command is published while it runs, as text in chunks; chunks of standard
// error have {"stream": "stderr"} in their metadata. The result is small: the exit code, and
// the end of the output. A command that exits with another code than 0 has failed, with an
// [*ExitError].
//
// A command that was ended by a signal, because its call was canceled or took too long, or
// because it crashed, has an unknown outcome: it may have had its effect.
//
// # No sandbox
//
// A command has the rights of the server: it can read and write the server's files, outside of
// its folder too, and use the network. A deny list only catches mistakes, as there are many
// ways to name a command. A file that is checked can be replaced by another program before the
// command opens it, unless it is passed open; see [Arg].Open. To contain a command, run the
// server as a user with no more rights than it needs, or let the command be a program that
// builds a sandbox.
package commandtool
