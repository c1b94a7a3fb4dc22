package main

// logRows change what the log of the process says.
func logRows() []Row {
	return []Row{
		{
			File:    "task/engine/change.go",
			What:    "e.tell(d.Audited())",
			Into:    "e.tell(nil)",
			Promise: "the log says who decided",
			Package: ".",
			Test:    "TestLogTellsWhatWasApproved/approved",
		},
		{
			File:    "task/draft.go",
			What:    "&& !d.f.asked(entry.Call)",
			Into:    "&& false",
			Promise: "the log says nothing at info of calls that nobody was asked about",
			Package: ".",
			Test:    "TestLogTellsWhatWasApproved/nobody was asked",
		},
		{
			File:    "task/engine/tell.go",
			What:    "level, message = zerolog.ErrorLevel, UnknownOutcome",
			Into:    "message = UnknownOutcome",
			Promise: "an unknown outcome is an error in the log",
			Package: ".",
			Test:    "TestLogTellsOfUnknownOutcomes",
			Hangs:   true,
		},
		{
			File:    "task/engine/engine.go",
			What:    "if t.Wrong {",
			Into:    "if false {",
			Promise: "a gate that fails is an error in the log",
			Package: ".",
			Test:    "TestLogTellsWhatWasApproved/a gate that fails",
		},
	}
}
