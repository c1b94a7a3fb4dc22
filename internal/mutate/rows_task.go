package main

import "slices"

func taskRows() []Row {
	return slices.Concat(entryRows(), callRows(), decisionRows(), endRows())
}

// entryRows are about the one door into a tool.
func entryRows() []Row {
	return []Row{
		{
			File:    "task/enter.go",
			What:    "case grant == nil && x.verdict.Action != approval.ActionAllow:",
			Into:    "case false:",
			Promise: "a call that the policy asks about does not run without an approval",
			Test:    "TestWhatADecisionDoes",
		},
		{
			File:    "task/enter.go",
			What:    "grant == nil && x.verdict.Action != approval.ActionAllow",
			Into:    "grant == nil && x.verdict.Action != approval.ActionAllow && first",
			Promise: "a call that nobody approved is asked about when the policy asks by the time it is entered again",
			Test:    "TestEntryOfACallThatStood/nobody approved, it asks now",
		},
		{
			File:    "task/enter.go",
			What:    "if digest == want {",
			Into:    "if digest == want || true {",
			Promise: "an approval is for the tool and the arguments that were shown",
			Test:    "TestEntryOfACallThatStood/approved, the definition",
		},
		{
			File:    "task/enter.go",
			What:    "if !same {",
			Into:    "if !same && false {",
			Promise: "what is not what was approved is asked again at the door, whatever asks for entry",
			Test:    "TestEntryOfACallThatStood/approved and confirmed, the definition",
		},
		{
			File:    "task/enter.go",
			What:    "want = a.Resolution.Digest",
			Into:    "_ = a.Resolution.Digest",
			Promise: "an edit is an approval of the edited arguments",
			Test:    "TestEditUnderAnotherRuleIsAskedAnew",
		},
		{
			File:    "task/enter.go",
			What:    "case x.verdict.Action == approval.ActionDeny:",
			Into:    "case false:",
			Promise: "what is denied now is not run, whoever approved it before",
			Test:    "TestEntryOfACallThatStood/approved, it is denied",
		},
		{
			File:    "task/enter.go",
			What:    "case x.invalid != nil:",
			Into:    "case false:",
			Promise: "a call enters with arguments that fit the schema as it is then",
			Test:    "TestEntryOfACallThatStood/nobody approved, what it takes",
		},
		{
			File:    "task/enter.go",
			What:    "return nil, d.postpone(c, x.trouble)",
			Into:    `return nil, d.finish(c, OutcomeInvalid, nil, x.trouble.Error(), nil)`,
			Promise: "a toolset that is down says nothing about its tools",
			Test:    "TestEntryOfACallThatStood/approved, its toolset is down",
		},
		{
			File:    "task/enter.go",
			What:    "digest, err = d.digest(approval.KindCall, x.entry, x.args, a.Attempt)\n\treturn digest == want, err",
			Into:    "return false, nil",
			Promise: "what earlier servers asked about an outcome can be answered",
			Test:    "TestOutcomeOfAnEarlierServer",
		},
		{
			File:    "task/enter.go",
			What:    "if digest != a.Digest {",
			Into:    "if digest != a.Digest && false {",
			Promise: "a yes to one definition of a tool is none to another",
			Test:    "TestConfirmationOfAChangedTool",
		},
		{
			File:    "task/enter.go",
			What:    "a.State == approval.Approved && a.Resolution.Payload != nil {",
			Into:    "a.State == approval.Approved {",
			Promise: "a gate's approval is no decision that the tool reads",
			Test:    "TestGateApprovalIsNotTheTools",
		},
		{
			File:    "task/enter.go",
			What:    "if string(e.examined.raw) != string(d.f.planned(c.ID)) {",
			Into:    "if false {",
			Promise: "the log says with which arguments a call was started",
			Test:    "TestHookedArgumentsStay",
		},
		{
			File:    "task/enter.go",
			What:    "if c.Cause == \"\" {",
			Into:    "if true {",
			Promise: "a call that may have run says so when it is not run again",
			Test:    "TestCallThatMayHaveRunSaysSo",
		},
		{
			File:    "task/enter.go",
			What:    "a.Approval, a.Digest = grant.ID, grant.Digest",
			Into:    "a.Approval = \"\"",
			Promise: "the audit of a start says by which approval",
			Test:    "TestAuditSaysWhatTheLogSays",
		},
		{
			File:    "task/enter.go",
			What:    "running := d.f.Busy() + d.entering; !d.roomToRun(running) {",
			Into:    "running := d.f.Busy() + d.entering; !d.roomToRun(running) && false {",
			Promise: "a call runs only when there is room for what comes of it",
			Test:    "TestCallsWaitForRoom",
		},
		{
			File:    "task/enter.go",
			What:    "d.f.Busy() + d.entering",
			Into:    "d.f.Busy()",
			Promise: "calls that start at once have room for the results of all of them",
			Test:    "TestCallsWaitForRoom",
		},
		{
			File:    "task/enter.go",
			What:    "if running > 0 {",
			Into:    "if false {",
			Promise: "a call waits for the room that a sibling gives back",
			Test:    "TestCallsWaitForRoom",
		},
		{
			File:    "task/enter.go",
			What:    "if err := d.closeAsks(c, \"the call continues without the answer\"); err != nil {\n\t\treturn err\n\t}\n",
			Into:    "",
			Promise: "a question is closed when its call continues without the answer",
			Test:    "TestOpenQuestionsAreClosed",
		},
		{
			File:    "task/enter.go",
			What:    "if err := d.closeAsks(c, \"the call has ended\"); err != nil {\n\t\treturn err\n\t}\n",
			Into:    "",
			Promise: "a question is closed when its call ends",
			Test:    "TestOpenQuestionsAreClosed",
		},
		{
			File:    "task/fold.go",
			What:    "if a.Call != c.ID || a.Ask != \"\" {",
			Into:    "if a.Call != c.ID {",
			Promise: "a yes to what a running tool asks is no approval of its call",
			Test:    "TestEntryOfACallThatStood/nobody approved, confirmed, it asks now",
		},
		{
			File:    "task/ask.go",
			What:    "if kind == approval.KindOutcome {",
			Into:    "if false {",
			Promise: "the digest of a call never says what came of it",
			Test:    "TestOutcomeHasADigestOfItsOwn",
		},
		{
			File:    "task/ask.go",
			What:    "entry.Digest, args, attempt)",
			Into:    "entry.Digest, args, 0)",
			Promise: "nor does that of another attempt",
			Test:    "TestOutcomeHasADigestOfItsOwn",
		},
		{
			File:    "task/ask.go",
			What:    "= c.Attempt, f.Owner, ",
			Into:    "= c.Attempt, a.Requester, ",
			Promise: "who asked for a call is its task's owner",
			Test:    "TestTermsOfAnOutcome",
		},
		{
			File:    "task/ask.go",
			What:    "if len(pending) >= limits.Pending {",
			Into:    "if false {",
			Promise: "a task waits for a bounded number of approvals",
			Test:    "TestSuspensionAsksAllOrNothing",
		},
		{
			File:    "task/ask.go",
			What:    "len(raw) > limit {",
			Into:    "len(raw) > limit && false {",
			Promise: "a question that would not fit into an event is not asked",
			Test:    "TestSuspensionAsksAllOrNothing",
		},
		{
			File:    "task/ask.go",
			What:    "\tif left {\n\t\treturn a2a.TaskStateWorking",
			Into:    "\tif false {\n\t\treturn a2a.TaskStateWorking",
			Promise: "the client is not asked while an approval is left to the provider",
			Test:    "TestClientIsAskedAfterTheProvider",
		},
		{
			File:    "task/ask.go",
			What:    "!d.f.approval(a.ID).Opened && ",
			Into:    "",
			Promise: "the client is asked when the provider has failed",
			Test:    "TestClientIsAskedAfterTheProvider",
		},
		{
			File:    "task/ask.go",
			What:    "a.Kind == approval.KindCall && !a.Elsewhere()",
			Into:    "a.Kind == approval.KindCall",
			Promise: "what others have to decide is not the provider's",
			Test:    "TestWhatIsNotTheProviders",
		},
	}
}
