package main

func a2aRows() []Row {
	return []Row{
		{
			File:    "a2a/operations.go",
			What:    "resumes = n <= h.Seq",
			Into:    "resumes = n <= h.Seq && n == 0",
			Promise: "a reader that says where it was continues from there",
			Test:    "TestWire/resume",
		},
		{
			File:    "a2a/sse.go",
			What:    "tag != s.tag(id) {",
			Into:    "tag != s.tag(id) && false {",
			Promise: "an id of another task is not taken for a place in this one",
			Test:    "TestWire/resume",
		},
		{
			File:    "a2a/sse.go",
			What:    "st.frame(b, page[i].Seq, page[i].Data)",
			Into:    "st.frame(b, page[len(page)-1].Seq, page[i].Data)",
			Promise: "each event of a stream has an id of its own",
			Test:    "TestWire/resume",
		},
		{
			File:    "a2a/sse.go",
			What:    "case err != nil && st.ctx.Err() == nil:",
			Into:    "case false:",
			Promise: "a stream that fails says so",
			Test:    "TestStreamThatFailsSaysSo",
		},
		{
			File:    "a2a/sse.go",
			What:    "\tif err := st.write(b); err != nil {\n\t\treturn err // net",
			Into:    "\tif err := st.write(b); err != nil {\n\t\t*kept = b[:0]\n\t\tbuffers.Put(kept)\n\t\treturn err // net",
			Promise: "what a stream could not write is not what another one writes",
			Test:    "TestFailedWriteKeepsItsBytes",
		},

		// The table of operations, and its document.
		{
			File:    "a2a/table.go",
			What:    `{http.MethodGet, "/tasks/{id}:subscribe", query},`,
			Into:    "",
			Promise: "each operation is at every path that the proto has for it",
			Test:    "TestOperationsAreThoseOfTheProto",
		},
		{
			File:    "a2a/rest.go",
			What:    "visits[i].method == c.Request().Method",
			Into:    "visits[i].method != c.Request().Method",
			Promise: "each route of the table is served",
			Test:    "TestOperationsAreServed",
		},
		{
			File:    "a2a/encode.go",
			What:    `],"totalSize":%d`,
			Into:    `],"total":%d`,
			Promise: "answers are as openapi.json has them",
			Test:    "TestAnswersAreAsDocumented",
		},

		// Answers.
		{
			File:    "internal/httpd/answer.go",
			What:    "n := min(piece, len(body))",
			Into:    "n := len(body) + 0*piece",
			Promise: "who reads fast enough gets all of an answer, however long that takes",
			Package: "a2a",
			Test:    "TestSlowReaderIsCutOff/fast enough",
		},
		{
			File:    "internal/httpd/answer.go",
			What:    "piece := f.cfg.ReadRate * int(AnswerTime/time.Second)",
			Into:    "piece := f.cfg.ReadRate",
			Promise: "who reads an answer too slowly is cut off",
			Package: "a2a",
			Test:    "TestSlowReaderIsCutOff/slow",
		},
		{
			File:    "a2a/server.go",
			What:    "defer a.Release()",
			Into:    "defer func() { _ = a.Release }()",
			Promise: "what an answer has taken is given back when it has been sent",
			Test:    "TestSentAnswersGiveBack",
		},
		{
			File:    "a2a/errors.go",
			What:    "return errBusy.saying(answers.Error()), true",
			Into:    "return errInternal.saying(answers.Error()), true",
			Promise: "beyond the memory for answers clients are told to try again",
			Test:    "TestUnreadAnswers",
		},
	}
}
