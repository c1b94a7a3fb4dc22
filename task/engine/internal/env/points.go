package env

// The points at which [Config.CrashPoint] is called: every place where a crash leaves
// something half done. The simulation kills a process at each; a point that it does not pass
// fails it.
const (
	PointCreated  = "task.created"  // a create was queued, but may not be durable
	PointLaunch   = "task.launch"   // a start is durable, but the tool has not run
	PointChunks   = "task.chunks"   // chunks were queued
	PointKept     = "task.kept"     // a checkpoint is durable, but its tool has not been told
	PointStep     = "task.step"     // the outcomes of calls were queued
	PointHeld     = "task.held"     // a question that holds its call is durable, but the tool does not wait for the answer yet
	PointAnswered = "task.answered" // the answer to it is durable, but its tool has not been told
	PointTold     = "task.told"     // a decision is durable, but its turn was not notified
	PointWoken    = "task.woken"    // a task was taken over, but its turn has not begun
	PointDue      = "task.due"      // due work was read, but not done
	PointClaimed  = "task.claimed"  // tasks of an older process were taken over
)
