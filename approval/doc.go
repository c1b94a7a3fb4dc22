// Package approval decides what has to be asked, who may answer what, and what an answer
// means. It has only values and pure functions: no storage, no transport, and no clock of
// its own (time is always an argument).
//
// # From a call to a verdict
//
// [Policy.Judge] looks at one call and says allow, ask or deny. Whatever goes wrong
// on the way, an error or a panic of a predicate, of the tool's own gate or of a
// template, makes it ask: nothing that fails lets a call run. The [Terms] of the
// rule that asked are copied into the [Approval] and hold until its end. A policy
// that changes meanwhile changes nothing about what has been asked.
//
// # The states of an approval
//
//	            approve  ┌──▶ approved ──▶ the call may start, once
//	            edit     ├──▶ edited ────▶ likewise, with the new arguments
//	            reject   ├──▶ rejected
//	pending ────respond──┼──▶ responded    (outcome and question only)
//	            deadline ├──▶ expired
//	            cancel   ├──▶ canceled     with its task
//	            changed  └──▶ superseded   by an approval that names it
//
// All states but pending are final. A second look at the same call is a new
// approval, whose Supersedes names the old one.
//
// # What binds an approval
//
// [Digest] covers the agent, the tool, the digest of the tool's definition and the
// arguments, so that what was shown is what runs. A decider may echo it; one that is
// not today's is answered with [Changed]. The question what came of a call has a digest
// of its own, [OutcomeDigest].
//
// A decision names an approval by its id. Dialects that ask by the call may name the
// call, which reaches less: see [Find]. Nothing that a decider sent is dropped: what has
// no effect is refused, so that nobody believes it had one.
//
// # From an answer to a decision
//
// [Match] finds the approval that each answer of a message names and settles what
// needs no effect any more; [Approval.Check] says whether this person may give this
// answer now; [Approval.Resolve] makes the record of it. Storage and effects belong
// to the caller, who does all of it in one batch. A question that is answered
// authorizes nothing: [Respond] is not a verb of [KindCall].
//
// What is planned has its place: grants are looked up between [Policy.Judge] and asking,
// quorum and votes come between [Approval.Check] and [Approval.Resolve], roles inside
// Check, and rules from a file become [Gate] values.
package approval
