// Package dialect speaks the approval dialects of A2A clients: it writes the message
// that asks for the pending approvals of a task, and reads the decisions in a message
// that comes back. It knows shapes only. Which approval an answer belongs to in the
// end, whether it is allowed and what follows is for package approval and the engine.
//
// A question is asked in every dialect at once, because its bytes are stored once for
// all readers: text for people, a data part for each approval as ADK has them, and the
// payloads of kagent's extension and of our own ([URI]) in the message's metadata.
//
// Each dialect has a file of its own with what it emits and a reader for what it
// accepts; the list of readers is in answers.go, and a further dialect is one more
// file and one more line there.
//
//	| file            | emits            | accepts                                     |
//	|-----------------|------------------|---------------------------------------------|
//	| toolapproval.go | metadata         | metadata or data part: approval_response    |
//	| adk.go          | data parts       | data parts: function_response               |
//	| adkrs.go        | –                | data parts: adk:functionResponse            |
//	| kagent.go       | metadata         | metadata: tool_approval_, ask_user_response |
//	| text.go         | text part        |                                             |
//	| typed.go        | why a text decides nothing | a text that is one keyword, or the JSON of approval_response |
//
// The shapes are closed, the foreign ones too: a member that is not known, or that says
// something else than the decision, may be what its sender meant. Nothing is guessed: a
// message is a decision in a known shape, or wrong in a known shape (an
// *approval.Error), or no decision. docs/approvals.md lists the members.
//
// Approvals are named by their ids. adk-rs and kagent ask by the call, so their answers
// may name one (ByCall); what that reaches is for approval.Find to say, here as later.
package dialect
