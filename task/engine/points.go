package engine

// The points at which [Config.Hook] is called: every place where a crash leaves
// something half done. The tests kill the process at each; a point without a case
// fails them.
const (
	PointCreated = "task.created" // a create was queued, it may not be durable
	PointLaunch  = "task.launch"  // a start is durable, the tool has not run
	PointChunks  = "task.chunks"  // chunks were queued
	PointStep    = "task.step"    // what came of calls was queued
	PointTold    = "task.told"    // a decision is durable, its turn was not told
	PointWoken   = "task.woken"   // a task was taken over, its turn has not begun
	PointDue     = "task.due"     // due work was read and not done
	PointClaimed = "task.claimed" // tasks of an older process were taken over
)
