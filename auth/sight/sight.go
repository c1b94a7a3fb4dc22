// Package sight says who sees what of a task and its approvals where a gate masks arguments or keeps the
// task (mask and mask_task). It is data: whether a reader reaches a task or an approval at all is for
// the roles of package auth.
package sight

// A Reader is somebody who reads, as one task or approval sees them.
type Reader uint8

// The readers.
const (
	Requester Reader = iota // made the task, or asked for the call
	Decider                 // may decide the approval, or could while it was pending; of a task: all that mask something
	Overseer                // anybody else who reaches it: viewers, operators, and approvers who may not decide it
	Route                   // gets messages about it: a mail, Slack, a webhook of notify
)

// Readers returns all readers.
func Readers() []Reader { return []Reader{Requester, Decider, Overseer, Route} }

// String returns the words of the documents.
func (r Reader) String() string {
	return [...]string{"requester", "decider", "viewer, operator, other approver", "route"}[r]
}

// A Surface is where something is read.
type Surface uint8

// The surfaces.
const (
	Task     Surface = iota // the task in A2A, its stream, its page and the API
	Approval                // the page of an approval, and the approval in the API
	List                    // lists, history, batches and the feed of approvals; calls of a task
	Message                 // messages of routes
)

// Surfaces returns all surfaces.
func Surfaces() []Surface { return []Surface{Task, Approval, List, Message} }

// String returns the words of the documents.
func (s Surface) String() string {
	return [...]string{"task", "approval", "lists, feed, calls", "messages"}[s]
}

// A Level is how much of a field is seen.
type Level uint8

// The levels.
const (
	None   Level = iota
	Masked       // with ••• where the gate says so
	Whole
)

// String returns the word of the documents.
func (l Level) String() string { return [...]string{"none", "masked", "whole"}[l] }

// A Sight is a reader's view of a surface.
type Sight struct {
	Arguments    Level // of the call, and of an edit
	Question     Level // hint and payload; that of a running tool is ••• where arguments are masked
	Digest       Level // by which masked values could be guessed; also counts of approvals with the same
	Conversation Level // messages, results and artifacts
	Kept         Level // the same where a gate keeps the task
}

// sights are all rows of the table. What is missing is not seen.
var sights = map[Reader]map[Surface]Sight{
	Requester: {
		Task:     {Arguments: Whole, Question: Whole, Digest: Whole, Conversation: Whole, Kept: Whole},
		Approval: {Arguments: Whole, Question: Whole, Digest: Whole, Conversation: Whole, Kept: Whole},
		List:     {Arguments: Masked, Question: Masked, Digest: Whole, Conversation: Masked, Kept: Masked},
	},
	Decider: {
		Task:     {Arguments: Whole, Question: Whole, Digest: Whole, Conversation: Whole, Kept: Whole},
		Approval: {Arguments: Whole, Question: Whole, Digest: Whole, Conversation: Whole, Kept: Whole},
		List:     {Arguments: Masked, Question: Masked, Digest: Whole, Conversation: Masked, Kept: Masked},
	},
	Overseer: {
		Task:     {Arguments: Masked, Question: Masked, Conversation: Whole},
		Approval: {Arguments: Masked, Question: Masked, Conversation: Whole},
		List:     {Arguments: Masked, Question: Masked, Conversation: Masked},
	},
	Route: {
		Message: {Arguments: Masked, Question: Masked},
	},
}

// Of returns a reader's view of a surface.
func Of(r Reader, s Surface) Sight { return sights[r][s] }
