package main

func eventRows() []Row {
	return []Row{
		{
			File:    "task/internal/event/event.go",
			What:    "u.Cause = CauseOfV1(u.Why)",
			Into:    "_ = u",
			Promise: "events of earlier servers are read as they were meant",
			Test:    "TestGoldenEvents/call.unknown.v1",
		},
		{
			File:    "task/internal/event/json.go",
			What:    "dst = appendTextField(dst, `,\"digest\":`, e.Digest)",
			Into:    "",
			Promise: "a start is written with the digest that it was approved by",
			Test:    "TestAppendLikeMarshal",
		},
		{
			File:    "task/internal/event/json.go",
			What:    "if !a.By.IsZero() {",
			Into:    "if false {",
			Promise: "the audit says who decided",
			Test:    "TestAppendLikeMarshal",
		},
		{
			File:    "task/internal/event/public.go",
			What:    "if !EmptyJSON(t.Artifacts) || !EmptyJSON(t.History) {",
			Into:    "if false {",
			Promise: "what clients see has one source in the log",
			Test:    "TestDecodeStatusErrors",
		},
	}
}
