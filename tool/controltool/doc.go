// Package controltool has the tools by which a model steers its task: finish ends it with an
// answer, escalate gives it back to the requester, and transfer_to_NAME hands it over to an agent,
// the tool NAME.
//
// A tool only sets actions (EventActions in package agent); a planner with a model follows them (see package
// task/planner/llm), and any other planner takes them for information. None of the
// tools has an effect of its own, so none asks by itself, and none authorizes anything: the gates
// of an agent decide about its call, whoever hands over to it.
package controltool
