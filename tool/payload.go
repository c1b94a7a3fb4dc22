package tool

// TakesPayload is a tool that reads what whoever decides on a call sends along with the
// decision, as ADK's clients can: [Confirmation] gives it while the call runs. Any other
// tool would not see it and run with the arguments that were shown, so for that one an
// answer with a payload is refused; other arguments are sent as an edit. A tool that
// asks by [RequestConfirmation] with a payload need not declare anything: the answer to
// that question may have one.
//
// A payload is JSON of any kind. It is bound by no digest and checked by no schema and no
// policy: the tool has to check it, and must do nothing because of it that whoever
// approved the arguments could not expect.
type TakesPayload interface {
	// TakesPayload reports whether the tool takes one. It is found by [As], so that a
	// wrapper may say otherwise than the tool that it wraps.
	TakesPayload() bool
}
