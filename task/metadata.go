package task

// ErrorKey is the metadata key of a chunk that describes a partial failure. A chunk without
// other content is a text part with the same text, which has the key in its own metadata, too,
// so that it is still recognized in the finished artifact.
const ErrorKey = "urn:a2a-server:error"

// ProgressKey is the metadata key of a status update that reports the progress of a running
// call: an object with callId, tool, done, and, if known, total, message and job, the id of
// the job that a [tool.Poller] has started; or the votes about a call. Such an update repeats the state, without a
// message; the message of the task's status remains. The task has the newest progress in its
// metadata until its next status.
const ProgressKey = "urn:a2a-server:progress"

// ModelKey is the metadata key of a status update with which a planner reports an answer of a
// language model: an object with step, which counts from 1, finish, inputTokens, outputTokens,
// durationMs, until the answer was complete, repeated requests included, and, if known, model and
// cachedTokens.
const ModelKey = "urn:a2a-server:model"

// EscalatedKey is the metadata key, with the value true, of the message of a rejected task that its
// agent has given back to whoever asked for it; the text says why.
const EscalatedKey = "urn:a2a-server:escalated"
