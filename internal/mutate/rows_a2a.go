package main

func a2aRows() []Row {
	return []Row{
		{
			File:    "a2a/operations.go",
			What:    "resumes && n <= first.Header.Seq;",
			Into:    "resumes && n == 0;",
			Promise: "a reader that says where it was goes on from there",
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
			What:    "st.frame(page[i].Seq, page[i].Data)",
			Into:    "st.frame(page[len(page)-1].Seq, page[i].Data)",
			Promise: "each event of a stream has an id of its own",
			Test:    "TestWire/resume",
		},
	}
}
