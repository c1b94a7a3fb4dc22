package task

// Names of a task's rows and due rows. They are on disk.
const (
	RowApproval  = "approval" // key: id of the approval; value: its JSON
	IndexPending = "pending"  // of approvals that wait, by the time they were asked

	DueExpiry  = "approval.expire" // key: id of the approval
	DueSilence = "approval.silent" // likewise: its provider has had its time
	DueWake    = "task.wake"       // key: see wake.go
	DueChild   = "task.cancel_child"
)
