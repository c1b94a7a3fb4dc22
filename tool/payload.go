package tool

// TakesPayload is a tool that reads the payload that an approver may send with the decision,
// as ADK's clients can: [Confirmation] returns it while the call runs. Any other tool would
// ignore the payload and run with the arguments that were shown, so an answer with a payload
// is refused for such a tool; to change the arguments, send an edit. A tool that calls
// [RequestConfirmation] with a payload need not declare anything: the answer to that question
// may have a payload.
//
// A payload is any JSON value. No digest covers it, and no schema or policy checks it: the
// tool has to check it, and must not let it cause anything that the approver of the arguments
// could not expect.
type TakesPayload interface {
	// TakesPayload reports whether the tool reads payloads. It is looked up with [As], so a
	// wrapper may override the tool that it wraps.
	TakesPayload() bool
}
