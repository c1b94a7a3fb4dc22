// Package approval decides which calls are asked about, which principals may answer, and the
// effect of an answer. It has only values and functions of them: no storage, no transport, and no
// clock (time is an argument), but for the limit to the time that conditions take.
//
// # From a call to a verdict
//
// [Policy.Judge] looks at a call and returns allow, ask or deny. An error or a panic of a
// predicate, of the tool's own gate or of a hint makes it ask: no failure lets a call run.
// The [Terms] of the gate that asked are copied into the [Approval] and hold until its end; of a
// later change of the policy only a gate that denies affects it, see [ViaPolicy], and an approver who
// asks it anew on stricter terms, see [Terms.Both].
//
// # The states of an approval
//
//	            approve  ┌──▶ approved ──▶ the call may start, once
//	            edit     ├──▶ edited ────▶ likewise, with the new arguments
//	            reject   ├──▶ rejected
//	pending ────respond──┼──▶ responded    (outcome and question only)
//	            deadline ├──▶ expired
//	            cancel   ├──▶ canceled     with its task, or by a gate that denies the call now
//	            changed  └──▶ superseded   by an approval that names it: of another call, or asked anew
//
// All states but pending are final. A second look at the same call is a new approval, whose
// Supersedes names the old approval.
//
// # The digest of an approval
//
// [Digest] covers the agent, the tool, the digest of the tool's definition and the arguments,
// so that the call runs as shown. A question that shows more has a digest of its own:
// [Approval.QuestionDigest]. A decider may echo the digest; a different digest is answered with
// [Changed].
//
// A decision names an approval by its id. Dialects that ask by the call may name the call,
// which reaches less: see [Find]. Every member of a decision has an effect or is refused.
//
// # From an answer to a decision
//
// [Match] finds the approval of each answer in a message and settles repeated answers;
// [Approval.Check] reports whether this person may give this answer now; [Approval.Resolve]
// records it. Storage and effects belong to the caller, in one batch. An answered question
// authorizes nothing: [Respond] is not a decision of [KindCall].
//
// Grants are looked up between [Policy.Judge] and asking. Votes are counted between
// [Approval.Check], which looks at roles, and [Approval.Resolve].
package approval
