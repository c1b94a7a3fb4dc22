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

// A Surface is where something is read.
type Surface uint8

// The surfaces.
const (
	Task     Surface = iota // the task in A2A, its stream, its page and the API
	Approval                // the page of an approval, and the approval in the API
	List                    // lists, history, batches and the feed of approvals; calls of a task
	Message                 // messages of routes
)

// A Level is how much of a field is seen.
type Level uint8

// The levels.
const (
	Masked Level = iota + 1 // with ••• where the gate says so; 0: it is not seen
	Whole
)

// A Sight is a reader's view of a surface.
type Sight struct {
	Arguments    Level // of the call, and of an edit
	Question     Level // hint and payload; that of a running tool is ••• where arguments are masked
	Digest       Level // by which masked values could be guessed; also counts of approvals with the same
	Conversation Level // messages, results and artifacts
	Kept         Level // the same where a gate keeps the task
}

// parties are the sights of those who asked for the call or may decide it.
var parties = map[Surface]Sight{
	Task:     {Arguments: Whole, Question: Whole, Digest: Whole, Conversation: Whole, Kept: Whole},
	Approval: {Arguments: Whole, Question: Whole, Digest: Whole, Conversation: Whole, Kept: Whole},
	List:     {Arguments: Masked, Question: Masked, Digest: Whole, Conversation: Masked, Kept: Masked},
}

// sights are all rows of the table. What is missing is not seen.
var sights = map[Reader]map[Surface]Sight{
	Requester: parties,
	Decider:   parties,
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
