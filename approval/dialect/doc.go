// Package dialect implements the approval dialects of A2A clients: it writes the message that
// asks for the pending approvals of a task, and reads the decisions in the messages that
// clients send back. It only knows their shapes. Package approval and the engine find the
// approval of an answer, check the answer, and carry out its effects.
//
// A question is asked in every dialect at once, because its bytes are stored once for all
// readers: text for people, a data part for each approval as in ADK, and the payloads of
// kagent's extension and of our own ([URI]) in the message's metadata.
//
// Each dialect has a file that defines its output and its input: a reader of the message's
// metadata, and the forms of data parts that are its questions and answers. The list is in
// forms.go; a new dialect is another file and another line there.
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
// All shapes are closed, third-party shapes included: an unknown member, or a member that
// contradicts the decision, may carry the sender's intent. Nothing is guessed: a message is a
// decision in a known shape, or invalid in a known shape (an *approval.Error), or not a
// decision. docs/approvals.md lists the members.
//
// Approvals are named by their ids. adk-rs and kagent ask by call, so their answers may name a
// call (ByCall); approval.Find finds its approval.
package dialect
