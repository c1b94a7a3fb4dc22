package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/sight"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// Approvals lists and decides approvals for people and programs other than the A2A client: an
// inbox, a command line, an API. Callers see the approvals that they may review (see
// [ScopeFor]): of their own tasks, or of their tenant. It is safe for concurrent use.
//
// A server of Approvals passes the principal authenticated for the request, never a principal
// that the request names, and for decisions a [Renewal] (see [Approvals.Renewing]). An
// *[auth.DeniedError] depends on the principal and the method only. Errors about a single
// approval are an *[approval.Error], the same for a foreign approval and a missing approval.
type Approvals struct {
	core      *core
	anonymous bool // only approvals of anonymous tasks
	program   bool // of all owners, for the program itself
	renew     Renewal
}

// A Renewal authenticates a caller again, with the errors of an [auth.Authenticator].
type Renewal = turn.Renewal

// OfAnonymous returns the approvals of tasks that were created without authentication instead.
// They need [auth.Admin]: no other principal can be shown to have created them.
func (a *Approvals) OfAnonymous() *Approvals {
	of := *a
	of.anonymous = true
	return &of
}

// Renewing returns approvals that authenticate the caller with renew again right before each
// decision, extension or revocation is committed: a credential that has been revoked by then decides nothing, and
// roles count as they are then.
func (a *Approvals) Renewing(renew Renewal) *Approvals {
	of := *a
	of.renew = renew
	return &of
}

// may returns a [*auth.DeniedError] if by may not do an action to any approval.
func (a *Approvals) may(by auth.Principal, what auth.Action) error {
	switch {
	case a.program:
		return nil
	case a.anonymous:
		what = auth.Admin
	}
	return by.May(what)
}

func (a *Approvals) scope(by auth.Principal, what auth.Action) store.Scope {
	if a.program {
		return store.System()
	}
	return scopeIn(by, what, a.anonymous)
}

// ApprovalQuery selects approvals. With Task, all approvals of that task are listed, by id.
// Without it, the pending approvals of all tasks are listed, the oldest first, or with ByDeadline
// those with the least time left first and those without a deadline last; with Settled,
// or with Tool or Digest of settled approvals, the settled approvals are listed, the newest
// first.
type ApprovalQuery struct {
	Task       string
	ByDeadline bool
	Settled    bool
	Tool       string // with Settled: of this tool; "": of any
	Digest     string // with Tool: of this digest; "": of any
	Limit      int    // Defaults to 50; at most 1,000.
	Bytes      int    // ends the page before its approvals have more, after its first; 0: no limit
	Cursor     string // ApprovalPage.Next of the previous page; "": the first page
}

// ApprovalPage is a page of approvals.
type ApprovalPage struct {
	Approvals []approval.Approval
	Next      string // "": last page
	Bytes     int    // of the stored approvals

	// Damaged counts the approvals of the page that cannot be read because their stored
	// data is damaged.
	Damaged int
}

// List lists approvals. An approval that is requested or decided between pages may be missing,
// or appear in its old state; all others appear exactly once. Show [approval.Approval.Listed]
// of each. A principal that may review no approvals gets an *[auth.DeniedError].
func (a *Approvals) List(ctx context.Context, by auth.Principal, q ApprovalQuery) (ApprovalPage, error) {
	if err := a.may(by, auth.Review); err != nil {
		return ApprovalPage{}, err
	}
	rows := store.RowQuery{Kind: record.KindApproval, Limit: store.PageSize(q.Limit), Bytes: q.Bytes, Cursor: q.Cursor}
	if q.Task != "" {
		id, ok := store.ParseTaskID(q.Task)
		if !ok {
			return ApprovalPage{}, task.ErrTaskNotFound
		}
		rows.Task = id
		return a.page(ctx, by, rows)
	}
	if q.Settled {
		tenant := a.tenant(by)
		switch {
		case q.Digest != "":
			rows.Index, rows.Prefix = record.IndexDigest, record.DigestPrefix(tenant, q.Tool, q.Digest)
		case q.Tool != "":
			rows.Index, rows.Prefix = record.IndexTool, record.ToolPrefix(tenant, q.Tool)
		default:
			rows.Index, rows.Prefix = record.IndexSettled, record.PendingPrefix(tenant)
		}
		// Approvals of an owner are found by a scan of the tenant's.
		end, err := a.core.Processor(ctx, by)
		if err != nil {
			return ApprovalPage{}, err
		}
		defer end()
		return a.page(ctx, by, rows)
	}
	rows.Index, rows.Prefix = a.pending(by)
	if q.ByDeadline {
		rows.Index = record.IndexDeadline
	}
	return a.page(ctx, by, rows)
}

// pending returns the index with the pending approvals that by may review, the oldest first, and the
// prefix of their keys.
func (a *Approvals) pending(by auth.Principal) (index string, prefix []byte) {
	if scope := a.scope(by, auth.Review); scope.IsOwner() {
		return record.IndexOwn, record.ScopePrefix(scope)
	}
	return record.IndexPending, record.PendingPrefix(a.tenant(by))
}

// Count returns how many pending approvals by may review, up to a limit of at most 1,000. It reads no
// approval.
func (a *Approvals) Count(ctx context.Context, by auth.Principal, limit int) (n int, more bool, err error) {
	if err := a.may(by, auth.Review); err != nil {
		return 0, false, err
	}
	q := store.RowQuery{Kind: record.KindApproval, Limit: limit, Keys: true}
	q.Index, q.Prefix = a.pending(by)
	page, err := a.core.env.Store.Rows(ctx, a.scope(by, auth.Review), q)
	return len(page.Rows), page.Next != "", err
}

// equalBytes bounds the approvals that [Approvals.Equal] reads.
const equalBytes = 64 << 10

// Equal returns the ids of the pending approvals that ask the same as one, itself among them, the oldest
// first and at most limit, as far as by may review them. If one hides nothing, neither do they, and none is
// read; else Equal returns those for which sees is true.
func (a *Approvals) Equal(ctx context.Context, by auth.Principal, one *approval.Approval, limit int, sees func(*approval.Approval) bool) (ids []string, _ error) {
	q := store.RowQuery{Kind: record.KindApproval, Index: record.IndexEqual, Prefix: record.EqualPrefix(a.tenant(by), one.Tool, one.Digest, one.Hides()), Limit: limit, Keys: true}
	rows, err := a.core.env.Store.Rows(ctx, a.scope(by, auth.Review), q)
	for i := range rows.Rows {
		ids = append(ids, string(rows.Rows[i].Key))
	}
	if err != nil || len(ids) < 2 || !one.Hides() {
		return ids, err
	}
	q.Keys, q.Bytes = false, equalBytes
	page, err := a.page(ctx, by, q)
	ids = nil
	for i := range page.Approvals {
		if sees(&page.Approvals[i]) {
			ids = append(ids, page.Approvals[i].ID)
		}
	}
	return ids, err
}

func (a *Approvals) page(ctx context.Context, by auth.Principal, q store.RowQuery) (ApprovalPage, error) {
	rows, err := a.core.env.Store.Rows(ctx, a.scope(by, auth.Review), q)
	if err != nil {
		return ApprovalPage{}, listError(err, "cursor")
	}
	page := ApprovalPage{Next: rows.Next}
	for _, row := range rows.Rows {
		page.Bytes += len(row.Value)
		one, err := tasklog.ReadApproval(&row)
		if err != nil {
			a.core.env.Log.Error().Err(err).Str("task_id", row.Task.String()).Msg("an approval cannot be read")
			page.Damaged++
			continue
		}
		page.Approvals = append(page.Approvals, one)
	}
	return page, nil
}

// Get returns an approval in any state. A missing or foreign approval is an *approval.Error
// with ReasonUnknown; a principal that may review no approvals gets an *[auth.DeniedError].
func (a *Approvals) Get(ctx context.Context, by auth.Principal, id string) (*approval.Approval, error) {
	if err := a.may(by, auth.Review); err != nil {
		return nil, err
	}
	of, ok := taskOf(id)
	if !ok {
		return nil, approval.Unknown(id, nil)
	}
	return a.core.reader.Approval(ctx, a.scope(by, auth.Review), of, id)
}

// taskOf returns the task of an approval: the beginning of the approval's id.
func taskOf(approvalID string) (store.TaskID, bool) {
	of, _, found := strings.Cut(approvalID, ".")
	id, ok := store.ParseTaskID(of)
	return id, found && ok
}

// May returns nil if by may decide a pending approval at now, whatever the decision, and else why
// not: an *[auth.DeniedError] or an *[approval.Error].
func (a *Approvals) May(by auth.Principal, one *approval.Approval) error {
	if err := a.may(by, auth.Decide); err != nil {
		return err
	}
	return one.Permits(approval.Decider{By: by, Via: approval.ViaAPI, Delegated: a.core.env.Rules().Delegated}, a.core.env.Now())
}

// Extend moves the deadline of a pending approval to a later time, at most [rules.MaxExtension]
// from now. by must be allowed to decide it; digest is the digest of the approval that was
// shown. The errors are those of [Approvals.Decide], and a *[task.InvalidError] for until.
func (a *Approvals) Extend(ctx context.Context, by auth.Principal, id, digest string, until time.Time) error {
	return a.change(ctx, by, id, func(by auth.Principal, via string) rules.Input {
		return rules.Extend{By: by, Via: via, Approval: id, Digest: digest, Until: until}
	})
}

// change changes a pending approval.
func (a *Approvals) change(ctx context.Context, by auth.Principal, id string, in func(by auth.Principal, via string) rules.Input) error {
	if err := a.may(by, auth.Decide); err != nil {
		return err
	}
	of, ok := taskOf(id)
	if !ok {
		return approval.Unknown(id, nil)
	}
	via := approval.ViaAPI
	if a.program {
		via = approval.ViaProvider
	}
	_, err := a.core.turns.ChangeAs(ctx, turn.Sender{By: by, Via: via, Renew: a.renew}, a.scope(by, auth.Decide), of, func(by auth.Principal) (rules.Input, error) { return in(by, via), nil })
	switch {
	case errors.Is(err, rules.ErrNoChange):
		return nil
	case errors.Is(err, task.ErrTaskNotFound), errors.Is(err, store.ErrNotFound):
		return approval.Unknown(id, nil)
	}
	return err
}

// AskAnew ends a pending approval of a call that has not begun, with its votes, and asks it again on its terms
// and those of the present gates, if these demand more: see [Approvals.Stricter]. It returns the id of the new
// approval. by must be allowed to decide it; digest is the digest of the approval that was shown. The errors are
// those of [Approvals.Decide].
func (a *Approvals) AskAnew(ctx context.Context, by auth.Principal, id, digest string) (successor string, err error) {
	err = a.change(ctx, by, id, func(by auth.Principal, via string) rules.Input {
		return rules.AskAnew{By: by, Via: via, Approval: id, Digest: digest, Successor: &successor}
	})
	return successor, err
}

// Parameters returns the JSON Schema of the arguments of an approval's tool, as the requester
// sees the tool now. It is nil for a tool that has none, has been replaced, or cannot be
// looked up.
func (a *Approvals) Parameters(ctx context.Context, one *approval.Approval) map[string]any {
	current := a.core.env.Rules()
	entry, err := current.Tools.Lookup(current.Readonly(ctx, one.Requester), one.Tool)
	if err != nil || entry.Digest != one.Definition {
		return nil
	}
	return entry.Definition.Parameters
}

// Reader returns who by is to an approval in any state.
func (a *Approvals) Reader(by auth.Principal, one *approval.Approval) sight.Reader {
	if by.Tenant == one.Requester.Tenant && by.Subject == one.Requester.Subject && by.May(auth.Decide) == nil && !a.anonymous {
		return sight.Requester
	}
	pending := *one
	pending.State, pending.Deadline = approval.Pending, nil
	if a.May(by, &pending) == nil {
		return sight.Decider
	}
	return sight.Overseer
}

// Surroundings are what is around an approval.
type Surroundings struct {
	Task  *task.View // without its artifacts
	Calls []task.CallStatus
	// Stricter is what the present gates demand beyond the terms of the approval, in words, if it can be asked
	// anew (see [Approvals.AskAnew]) by the reader.
	Stricter []string
}

// Around returns what is around an approval, for a principal that may review the approval. It reserves
// the memory for it in ans.
func (a *Approvals) Around(ctx context.Context, ans *ReadReservation, one *approval.Approval) (Surroundings, error) {
	if err := a.may(ans.by, auth.Review); err != nil {
		return Surroundings{}, err
	}
	of, ok := taskOf(one.ID)
	if !ok {
		return Surroundings{}, approval.Unknown(one.ID, nil)
	}
	scope := a.scope(ans.by, auth.Review)
	f, err := ans.outline(ctx, scope, of)
	if err != nil {
		return Surroundings{}, err
	}
	sees, err := ans.core.taskSight(ctx, ans.by, scope, f.Header.Owner, of)
	if err != nil {
		return Surroundings{}, err
	}
	around := Surroundings{Task: sees.view(f.View), Calls: sees.calls(f.Calls())}
	if a.May(ans.by, one) == nil {
		if err := a.core.reader.Join(ctx, f.Header.Owner, f); err != nil {
			return Surroundings{}, err
		}
		around.Stricter = rules.Stricter(ctx, a.core.env.Rules(), f, one.ID, a.core.env.Now())
	}
	return around, nil
}

// DecideAll decides several approvals of one task: either all of the decisions count, or none.
// already says of each whether it had been made before. Otherwise it is [Approvals.Decide].
func (a *Approvals) DecideAll(ctx context.Context, by auth.Principal, answers []approval.Decision) (already []bool, err error) {
	if err := a.may(by, auth.Decide); err != nil {
		return nil, err
	}
	if len(answers) == 0 {
		return nil, nil
	}
	of, _ := taskOf(answers[0].ID)
	for i := range answers {
		answers[i].ByCall = false
		if one, known := taskOf(answers[i].ID); !known || one != of {
			return nil, approval.Unknown(answers[i].ID, nil)
		}
	}
	already = make([]bool, len(answers))
	return already, a.change(ctx, by, answers[0].ID, func(by auth.Principal, via string) rules.Input {
		return rules.Decisions{By: by, Via: via, List: answers, Already: already}
	})
}

// Decide decides an approval. When it returns nil the decision is durable, and the task
// continues. Set Digest to the digest that was shown to the approver: if the approval's digest
// has changed by then, Decide changes nothing and returns an error that says so. The errors
// are those of [Engine.Send]; the reason of an *approval.Error says why the decision does
// not count. A principal that may decide no approvals gets an *[auth.DeniedError].
func (a *Approvals) Decide(ctx context.Context, by auth.Principal, answer approval.Decision) error {
	_, err := a.DecideAll(ctx, by, []approval.Decision{answer})
	return err
}

// Watch returns a channel that receives a value after an approval that by may review is
// requested or decided. A value may report several changes: call Watch, then List, then wait.
// stop ends the watch and may be called more than once; the channel is never closed.
func (a *Approvals) Watch(by auth.Principal) (wake <-chan struct{}, stop func()) {
	return a.core.env.Store.WatchRows(a.scope(by, auth.Review), record.KindApproval)
}
