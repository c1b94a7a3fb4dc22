package main

func dialectRows() []Row {
	return []Row{
		{
			File:    "a2a/dialect/answers.go",
			What:    "in.contradicted(all); err != nil",
			Into:    "in.contradicted(all); err != nil && false",
			Promise: "a text that says the other thing than the decision beside it refuses the message",
			Test:    "TestAnswersRefused/no beside an approval",
		},
		{
			File:    "a2a/dialect/answers.go",
			What:    "len(all) > MaxDecisions",
			Into:    "false",
			Promise: "the decisions of one message are bounded over all of its parts",
			Test:    "TestDecisionsOfAllPartsAreCounted",
		},
		{
			File:    "a2a/dialect/toolapproval.go",
			What:    `c.only(unknownMember, "id", "decision", "arguments", "response", "reason", "digest")`,
			Into:    "",
			Promise: "nothing in a decision claims who decides",
			Test:    "TestAnswersRefused/ours, claimed identity",
		},
		{
			File:    "a2a/dialect/toolapproval.go",
			What:    "edits != (answer.Verb == approval.Edit)",
			Into:    "false",
			Promise: "an approval does not carry arguments",
			Test:    "TestAnswersRefused/ours, approve with arguments",
		},
		{
			File:    "a2a/dialect/adk.go",
			What:    "if name != want {",
			Into:    "if false {",
			Promise: "a confirmation does not answer a question",
			Test:    "TestAnswersRefused/adk, confirmation for a question",
		},
		{
			File:    "a2a/dialect/adk.go",
			What:    "a.Terms.Destructive ||",
			Into:    "",
			Promise: "a text never approves a destructive call, nor in ADK's shape",
			Test:    "TestAnswersRefused/adk, text for a destructive call",
		},
		{
			File:    "a2a/dialect/kagent.go",
			What:    "if !slices.Contains(in.message.Extensions, KagentURI) {",
			Into:    "if false {",
			Promise: "kagent's shape counts only where the message lists its extension",
			Test:    "TestAnswersRefused/kagent, extension not listed",
		},
		{
			File:    "a2a/dialect/kagent.go",
			What:    "confirmable(a) && !seen[a] &&",
			Into:    "false &&",
			Promise: "in kagent's shape each approval has to be decided",
			Test:    "TestAnswersRefused/kagent, one missing",
		},
		{
			File:    "a2a/dialect/text.go",
			What:    `strings.Join(texts, "\n")`,
			Into:    `strings.Join(texts, "")`,
			Promise: "halves of a keyword in two parts are none",
			Test:    "TestAnswers/text in two halves",
		},
		{
			File:    "a2a/dialect/text.go",
			What:    `"> %s\n", line`,
			Into:    `"%s\n", line`,
			Promise: "a hint cannot pretend to be a line of the server",
			Test:    "TestQuestionHidesNothing",
		},
		{
			File:    "a2a/dialect/text.go",
			What:    "v.label, visible.Line(string(raw))",
			Into:    "v.label, string(raw)",
			Promise: "nothing in the arguments is hidden from who decides",
			Test:    "TestQuestionHidesNothing",
		},
		{
			File:    "a2a/dialect/shown.go",
			What:    "return a.Kind != approval.KindQuestion && !a.Elsewhere()",
			Into:    "return a.Kind != approval.KindQuestion",
			Promise: "what others have to decide is not put to the client",
			Test:    "TestAnswers/kagent, what others decide need not be there",
		},
	}
}
