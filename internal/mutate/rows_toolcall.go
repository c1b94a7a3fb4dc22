package main

// toolCallRows is about a call on the command line, which a person at a terminal approves.
func toolCallRows() []Row {
	return []Row{
		{
			File:    "internal/app/desk.go",
			What:    "if !d.person {",
			Into:    "if false {",
			Promise: "without a terminal nobody is asked, whatever standard input says",
			Test:    "TestToolsCallRefused",
		},
		{
			File:    "internal/app/confirm.go",
			What:    "return ok && terminal(in) && terminal(p.stderr)",
			Into:    "_, _ = in, ok\n\treturn true",
			Promise: "a pipe is no terminal",
			Test:    "TestToolsCallRefused/a pipe",
		},
		{
			File:    "internal/app/keyboard.go",
			What:    "if err := discardInput(k.from); err != nil {",
			Into:    "if err := error(nil); err != nil {",
			Promise: "what was written before a question is no answer to it",
			Test:    "TestToolsCallTypedAhead",
		},
		{
			File:    "internal/app/keyboard.go",
			What:    "return written{err: err}",
			Into:    "return written{line: string(line)}",
			Promise: "a line without an end is no answer",
			Test:    "TestToolsCallLines",
			Hangs:   true,
		},
		{
			File:    "internal/app/desk.go",
			What:    "case len(line) < longestLine:",
			Into:    "default:",
			Promise: "a line that the terminal has cut off is no answer",
			Test:    "TestToolsCallLines",
			Hangs:   true,
		},
		{
			File:    "internal/app/desk.go",
			What:    "if line == \"\" {\n\t\t\treturn approval.Answer{Verb: approval.Reject}, nil",
			Into:    "if line == \"\" {\n\t\t\treturn approval.Answer{Verb: approval.Approve}, nil",
			Promise: "an empty line is no",
			Test:    "TestToolsCallTerminal/empty",
			Hangs:   true,
		},
		{
			File:    "internal/app/desk.go",
			What:    `begin := "\n  " + bar`,
			Into:    `begin := "\n  "`,
			Promise: "no line of a tool's question looks like one of ours",
			Test:    "TestToolsCallAnsweredNo",
			Hangs:   true,
		},
		{
			File:    "internal/app/desk.go",
			What:    "if d.shown {\n\t\ttext = visible.Text(text)",
			Into:    "if false {\n\t\ttext = visible.Text(text)",
			Promise: "what a tool prints cannot change what else is on the terminal",
			Test:    "TestToolsCallEscapes",
		},
		{
			File:    "internal/app/run.go",
			What:    "visible.Text(err.Error())",
			Into:    `visible.Line("") + err.Error()`,
			Promise: "what an error repeats cannot change what is on the terminal",
			Test:    "TestToolsCall/hidden",
		},
		{
			File:    "once.go",
			What:    "c.only = nil, true, noting, called(text)",
			Into:    `c.only = nil, true, noting, ""`,
			Promise: "a call starts only the MCP server whose tool it calls",
			Package: "internal/app",
			Test:    "TestToolsCallStarts/echo",
		},
		{
			File:    "once.go",
			What:    "o.unknown = answer.Verb == approval.Reject || answer.Verb == approval.Cancel",
			Into:    "o.unknown = false",
			Promise: "a call that may have run is not said to be not approved",
			Package: "internal/app",
			Test:    "TestToolsCallTypedAhead",
		},
		{
			File:    "once.go",
			What:    "answer.ID, answer.Digest = a.ID, a.Digest",
			Into:    "answer.Digest = a.Digest",
			Promise: "an answer is about the approval that was shown",
			Package: ".",
			Test:    "TestCallOnce/another's id",
			Hangs:   true,
		},
	}
}
