package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/sight"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// Config configures a [Service]. All fields are required.
type Config struct {
	Approvals *engine.Approvals
	Tasks     *engine.Tasks
	Events    taskLog
	Audit     auditLog
	// ReserveRead reserves memory for an answer to a caller.
	ReserveRead func(by auth.Principal) *engine.ReadReservation
	// Webhooks lists webhooks of tasks that by oversees. It checks the query.
	Webhooks func(ctx context.Context, by auth.Principal, q client.WebhookQuery) (client.WebhookPage, error)
	// Notifications lists the messages about approvals in tasks that by oversees. It checks the
	// query.
	Notifications func(ctx context.Context, by auth.Principal, q client.NotificationQuery) (client.NotificationPage, error)
	// Revoked reports whether the credential of a principal is known to be invalid by now.
	Revoked        func(auth.Principal) bool
	Incarnation    uint64 // of the store; positions of another store are not accepted
	Agent, Version string // for people
	Log            zerolog.Logger
}

// Service has the operations of the API. It is safe for concurrent use. Its errors are mapped by
// [Problem].
type Service struct {
	cfg  Config
	feed *feed
}

// New returns a Service.
func New(cfg Config) *Service { return &Service{cfg, newFeed(cfg.Audit)} }

// Run serves followers of [Service.Events] until ctx ends.
func (s *Service) Run(ctx context.Context) error { return s.feed.run(ctx) }

// A Caller is the caller of a request.
type Caller struct {
	By        auth.Principal
	Renew     engine.Renewal // authenticates By again; nil: By counts as it is
	Anonymous bool           // about resources created without authentication; needs auth.Admin
}

func (s *Service) approvals(c Caller) *engine.Approvals {
	a := s.cfg.Approvals.Renewing(c.Renew)
	if c.Anonymous {
		a = a.OfAnonymous()
	}
	return a
}

func (s *Service) tasks(c Caller) *engine.Tasks {
	if c.Anonymous {
		return s.cfg.Tasks.OfAnonymous()
	}
	return s.cfg.Tasks
}

// WhoAmI returns the caller and its permissions.
func (s *Service) WhoAmI(c Caller) client.WhoAmI {
	may := map[string]bool{}
	for _, a := range []auth.Action{auth.Create, auth.Read, auth.List, auth.Follow, auth.Cancel, auth.Push, auth.Delete, auth.Review, auth.Decide, auth.Oversee, auth.Admin} {
		may[a.String()] = c.By.May(a) == nil
	}
	return client.WhoAmI{Caller: PrincipalOf(c.By), May: may, Server: s.cfg.Agent, Version: s.cfg.Version}
}

const (
	defaultPage = 50
	maxPage     = 200
)

// bound sets a limit that is missing, and refuses one that is not a page's.
func bound(limit *int) error {
	if *limit = cmp.Or(*limit, defaultPage); *limit < 1 || *limit > maxPage {
		return task.Invalid("limit", "is not a number from 1 to %d", maxPage)
	}
	return nil
}

// settled selects every final state.
const settled client.State = "settled"

// Approvals lists approvals. A page may have fewer than q.Limit, or none, although more follow: it ends
// when it has looked at [maxLooked] approvals, or read [maxRead] bytes of them.
func (s *Service) Approvals(ctx context.Context, c Caller, q client.ApprovalQuery) (client.ApprovalPage, error) {
	page := client.ApprovalPage{Items: []client.Approval{}}
	if err := bound(&q.Limit); err != nil {
		return page, err
	}
	switch {
	case q.State != "" && !slices.Contains([]client.State{client.Pending, settled, client.Approved, client.Edited, client.Rejected, client.Responded, client.Expired, client.Canceled, client.Superseded}, q.State):
		return page, task.Invalid("state", "is not a state of approvals: pending, settled, or one of approved, edited, rejected, responded, expired, canceled and superseded")
	case q.Order != "" && q.Order != "time" && q.Order != "deadline":
		return page, task.Invalid("order", "is neither time nor deadline")
	case q.Order == "deadline" && (q.Task != "" || q.State != "" && q.State != client.Pending):
		return page, task.Invalid("order", "is for pending approvals: leave out task and state, or order")
	case q.Mine && q.State != "" && q.State != client.Pending:
		return page, task.Invalid("mine", "is for pending approvals: leave out state, or mine")
	}
	of := engine.ApprovalQuery{Task: q.Task, ByDeadline: q.Order == "deadline", Cursor: q.Cursor}
	if q.Task == "" && q.State != "" && q.State != client.Pending {
		of.Settled, of.Tool = true, q.Tool
	}
	list, answer := s.approvals(c), s.cfg.ReserveRead(c.By)
	defer answer.Release()
	same := s.equals(ctx, c, list)
	var err error
	page.Next, page.Damaged, err = s.each(ctx, c, answer, of, q.Limit, func(a *approval.Approval) bool {
		selected := s.selects(c, list, q, a)
		if selected {
			page.Items = append(page.Items, s.listed(c, list, a, same))
		}
		return selected
	})
	page.Reach = c.reach(auth.Review, "approvals of")
	return page, err
}

// Approval returns an approval with the context that a person needs to decide it.
func (s *Service) Approval(ctx context.Context, c Caller, id string) (client.ApprovalDetail, error) {
	list := s.approvals(c)
	a, err := list.Get(ctx, c.By, id)
	if err != nil {
		return client.ApprovalDetail{}, err
	}
	d := client.ApprovalDetail{
		Approval: s.seen(c, list, a, sight.Approval), May: s.may(list, c, a), Caller: PrincipalOf(c.By),
		Conversation: []client.Message{}, Before: []client.Approval{}, Tool: []client.Approval{},
	}
	for _, g := range a.Gates {
		g.Name = strings.TrimPrefix(g.Name, "gate:")
		d.Gates = append(d.Gates, client.AskedGate(g))
	}
	if schema := list.Parameters(ctx, a); schema != nil {
		d.Parameters, _ = json.Marshal(schema) // without it, fields of a form take JSON
	}
	if replaced := a.Replaced(); replaced != nil && (!a.Hides() || sight.Of(list.Reader(c.By, a), sight.Approval).Question == sight.Whole) { // an editor edits these
		d.Approval.Arguments, d.Parameters = replaced, a.Schema
	}
	same := s.equals(ctx, c, list)
	d.Approval.EqualTo = same.to(a)
	answer := s.cfg.ReserveRead(c.By)
	defer answer.Release()
	for _, of := range []struct {
		digest string
		to     *[]client.Approval
	}{{a.Digest, &d.Before}, {"", &d.Tool}} {
		_, _, err := s.each(ctx, c, answer, engine.ApprovalQuery{Settled: true, Tool: a.Tool, Digest: of.digest}, 11, func(other *approval.Approval) bool {
			guesses := of.digest != "" && (d.Approval.Digest == "" || other.For(sight.Of(list.Reader(c.By, other), sight.List)).Digest == "")
			if other.ID != a.ID && !guesses && len(*of.to) < 10 {
				*of.to = append(*of.to, s.listed(c, list, other, same))
			}
			return true
		})
		if err != nil {
			return d, err
		}
	}
	answer.Release() // what the lists took
	around, err := list.Around(ctx, answer, a)
	if err != nil {
		return d, err
	}
	d.Stricter = around.Stricter
	d.Conversation, d.Earlier = conversation(a.ID, around.Task.AppendTask(nil, task.ViewOptions{HistoryLength: -1, NoArtifacts: true}))
	for i := range around.Calls {
		if one := &around.Calls[i]; one.ID == a.Call {
			run := callOf(one, sight.Of(list.Reader(c.By, a), sight.Approval))
			d.Run = &run
		}
	}
	return d, nil
}

// may returns the caller's permissions for an approval.
func (s *Service) may(list *engine.Approvals, c Caller, a *approval.Approval) client.May {
	err := list.May(c.By, a)
	if err == nil {
		return client.May{Decide: true, Extend: a.Deadline != nil && !a.Held, Voted: a.Voted(c.By) != nil && !a.AddsVote(c.By)}
	}
	p := Problem(err)
	return client.May{WhyNot: p.Detail, Reason: p.Reason}
}

// Decide decides an approval.
func (s *Service) Decide(ctx context.Context, c Caller, id string, d client.Decision) (client.Decided, error) {
	all, err := s.decideTask(ctx, c, []client.BatchDecision{{ID: id, Decision: d}})
	if err != nil {
		return client.Decided{}, err
	}
	return all[0], nil
}

// decideTask decides approvals of a task, all or none.
func (s *Service) decideTask(ctx context.Context, c Caller, list []client.BatchDecision) ([]client.Decided, error) {
	answers := make([]approval.Decision, len(list))
	for i, d := range list {
		if d.Digest == "" {
			return nil, approval.Malformed(d.ID, "repeat the digest of the approval that was shown", approval.Violation{Field: "digest", Description: "is missing"})
		}
		answers[i] = approval.Decision{ID: d.ID, Type: approval.DecisionType(d.Decision.Decision), Args: d.Arguments, Response: d.Response, Reason: d.Reason, Digest: d.Digest, Grant: grantRequestOf(d.Grant)}
	}
	of := s.approvals(c)
	already, err := of.DecideAll(ctx, c.By, answers)
	before := err != nil // the decision had been made before, if its error is none here
	if err := decided(err); err != nil {
		return nil, err
	}
	out := make([]client.Decided, len(list))
	for i := range list {
		out[i] = client.Decided{Already: before || already[i], Caller: PrincipalOf(c.By)}
		a, err := of.Get(ctx, c.By, list[i].ID)
		if err != nil {
			continue // the decision stays
		}
		whole := s.seen(c, of, a, sight.Approval)
		out[i].Approval = &whole
		if whole.RequesterRevoked && a.State != approval.Rejected {
			s.cfg.Log.Warn().Str("task_id", a.Task).Str("approval_id", a.ID).Str("subject", a.Requester.Subject).Str("decided_by", c.By.Subject).
				Msg("a call was approved whose requester's credential is no longer valid")
		}
	}
	return out, nil
}

// decided returns nil for a decision that had been made before, and for a task that has ended
// the error of the approval.
func decided(err error) error {
	if state, is := errors.AsType[*task.StateError](err); is && state.Decided != nil {
		err = state.Decided
	}
	if wrong, is := errors.AsType[*approval.Error](err); is && wrong.Reason == approval.ReasonDecided {
		return nil
	}
	return err
}

// MaxBatch is how many decisions [Service.DecideAll] takes.
const MaxBatch = 100

// DecideAll decides several approvals, and returns a result for each, in their order. The
// decisions about a task count together or not at all.
func (s *Service) DecideAll(ctx context.Context, c Caller, list []client.BatchDecision) ([]client.BatchResult, error) {
	if err := c.By.May(auth.Decide); err != nil && !c.Anonymous {
		return nil, err
	}
	switch {
	case len(list) == 0:
		return nil, task.Invalid("items", "has no decision")
	case len(list) > MaxBatch:
		return nil, task.Invalid("items", "has %d decisions; at most %d are accepted", len(list), MaxBatch)
	}
	out := make([]client.BatchResult, len(list))
	groups := map[string][]int{}
	var order []string
	for i := range list {
		out[i].ID = list[i].ID
		of, _, _ := strings.Cut(list[i].ID, ".")
		if groups[of] == nil {
			order = append(order, of)
		}
		groups[of] = append(groups[of], i)
	}
	for _, of := range order {
		group := groups[of]
		decisions := make([]client.BatchDecision, len(group))
		for n, i := range group {
			decisions[n] = list[i]
		}
		results, err := s.decideTask(ctx, c, decisions)
		for n, i := range group {
			if err == nil {
				out[i].Decided, out[i].Status = &results[n], statusOf(&results[n])
				continue
			}
			p := s.problem(ctx, c, err, list[i].ID)
			if wrong, is := errors.AsType[*approval.Error](err); is && len(group) > 1 && wrong.ID != list[i].ID {
				p = problem(http.StatusFailedDependency, client.ReasonBatch, "nothing was decided, because another decision about the same task was refused: "+p.Detail)
			}
			out[i].Error, out[i].Status = p, p.Status
		}
	}
	return out, nil
}

// Extend moves the deadline of a pending approval.
func (s *Service) Extend(ctx context.Context, c Caller, id string, x client.Extension) (client.Decided, error) {
	if x.Digest == "" {
		return client.Decided{}, task.Invalid("digest", "is missing: an extension names the digest of the approval that was shown")
	}
	list := s.approvals(c)
	if err := list.Extend(ctx, c.By, id, x.Digest, x.Until); err != nil {
		return client.Decided{}, err
	}
	return s.changed(ctx, c, list, id), nil
}

// AskAnew asks a pending approval anew, on stricter terms. The result has the new approval.
func (s *Service) AskAnew(ctx context.Context, c Caller, id string, x client.Anew) (client.Decided, error) {
	if x.Digest == "" {
		return client.Decided{}, task.Invalid("digest", "is missing: name the digest of the approval that was shown")
	}
	list := s.approvals(c)
	successor, err := list.AskAnew(ctx, c.By, id, x.Digest)
	if err != nil {
		return client.Decided{}, err
	}
	return s.changed(ctx, c, list, successor), nil
}

// changed returns the result of a change of an approval.
func (s *Service) changed(ctx context.Context, c Caller, list *engine.Approvals, id string) client.Decided {
	out := client.Decided{Caller: PrincipalOf(c.By)}
	if a, err := list.Get(ctx, c.By, id); err == nil {
		whole := s.seen(c, list, a, sight.Approval)
		out.Approval = &whole
	}
	return out
}

// Tasks lists the tasks of the tenant for a caller that oversees it, and else the caller's
// own.
func (s *Service) Tasks(ctx context.Context, c Caller, q client.TaskQuery) (client.TaskPage, error) {
	page := client.TaskPage{Items: []client.Task{}}
	if err := bound(&q.Limit); err != nil {
		return page, err
	}
	list, err := s.tasks(c).List(ctx, c.By, engine.TaskQuery{Context: q.Context, State: a2a.TaskState(longState(q.State)), Owner: q.Principal, Limit: q.Limit, Cursor: q.Cursor})
	if err != nil {
		return page, err
	}
	for i := range list.Tasks {
		page.Items = append(page.Items, s.taskOf(&list.Tasks[i]))
	}
	page.Next, page.Reach = list.Next, c.reach(auth.Oversee, "")
	return page, nil
}

// maxTitle is how many bytes of a task's first line are its title.
const maxTitle = 500

// Titles returns the first line of the message that created each of these tasks; "": the caller
// may not read it, or it is not known.
func (s *Service) Titles(ctx context.Context, c Caller, tasks []client.Task) ([]string, error) {
	ids, out := make([]string, len(tasks)), make([]string, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].ID
	}
	err := s.tasks(c).Openings(ctx, c.By, ids, func(i int, raw []byte) {
		var m Message
		if json.Unmarshal(raw, &m) == nil {
			said, _ := m.text()
			line, _, _ := strings.Cut(strings.TrimSpace(said.Text), "\n")
			out[i] = strings.Clone(strings.ToValidUTF8(line[:min(len(line), maxTitle)], ""))
		}
	})
	return out, err
}

const statePrefix = "TASK_STATE_"

// longState returns the A2A name of a state, which people write without its prefix.
func longState(text string) string {
	if text == "" || strings.HasPrefix(text, statePrefix) {
		return text
	}
	return statePrefix + strings.ReplaceAll(strings.ToUpper(text), "-", "_")
}

// Task returns a task with its log.
func (s *Service) Task(ctx context.Context, c Caller, id string) (client.TaskDetail, error) {
	tasks := s.tasks(c)
	answer := s.cfg.ReserveRead(c.By)
	defer answer.Release()
	view, header, err := tasks.Get(ctx, answer, id)
	if err != nil {
		return client.TaskDetail{}, err
	}
	d := client.TaskDetail{
		Task: s.taskOf(&header), A2A: view.AppendTask(nil, task.ViewOptions{HistoryLength: -1}), Calls: []client.Call{}, Approvals: []client.Approval{}, Caller: PrincipalOf(c.By),
	}
	calls, err := tasks.Calls(ctx, answer, id)
	if err != nil {
		return d, err
	}
	for i := range calls {
		d.Calls = append(d.Calls, callOf(&calls[i], sight.Of(sight.Requester, sight.List)))
	}
	if c.By.May(auth.Review) == nil || c.Anonymous {
		list, cursor := s.approvals(c), ""
		same := s.equals(ctx, c, list)
		for {
			cursor, _, err = s.each(ctx, c, answer, engine.ApprovalQuery{Task: id, Cursor: cursor}, maxPage, func(a *approval.Approval) bool {
				d.Approvals = append(d.Approvals, s.listed(c, list, a, same))
				return true
			})
			if err != nil {
				return d, err
			}
			if cursor == "" || len(d.Approvals) >= maxLooked {
				break
			}
		}
	}
	if c.By.May(auth.Oversee) == nil {
		if page, err := s.cfg.Webhooks(ctx, c.By, client.WebhookQuery{Task: id, Limit: defaultPage, Anonymous: c.Anonymous}); err == nil {
			d.Webhooks = page.Items
		}
	}
	ended := a2a.TaskState(d.Task.State).Terminal()
	own := d.Task.Tenant == c.By.Tenant && d.Task.Owner == c.By.Subject
	d.May = client.TaskMay{
		Cancel: !ended && c.By.May(auth.Cancel) == nil && (own || c.By.Whole(auth.Cancel)),
		Delete: ended && c.By.May(auth.Delete) == nil && (own || c.By.Whole(auth.Delete)),
		Send:   !ended && own && c.By.May(auth.Create) == nil,
	}
	return d, nil
}

// Cancel cancels a task.
func (s *Service) Cancel(ctx context.Context, c Caller, id string) error {
	return s.tasks(c).Cancel(ctx, c.By, id)
}

// CancelCall cancels a call of a task.
func (s *Service) CancelCall(ctx context.Context, c Caller, id, call string) error {
	return s.tasks(c).CancelCall(ctx, c.By, id, call)
}

// webhooks lists webhooks.
func (s *Service) webhooks(ctx context.Context, c Caller, q client.WebhookQuery) (client.WebhookPage, error) {
	if err := bound(&q.Limit); err != nil {
		return client.WebhookPage{}, err
	}
	q.Anonymous = c.Anonymous
	page, err := s.cfg.Webhooks(ctx, c.By, q)
	page.Reach = c.reach(auth.Oversee, "webhooks of")
	return page, err
}

// notifications lists messages of routes that are not sent.
func (s *Service) notifications(ctx context.Context, c Caller, q client.NotificationQuery) (client.NotificationPage, error) {
	if err := bound(&q.Limit); err != nil {
		return client.NotificationPage{}, err
	}
	q.Anonymous = c.Anonymous
	page, err := s.cfg.Notifications(ctx, c.By, q)
	page.Reach = c.reach(auth.Oversee, "messages about")
	return page, err
}

// audit returns entries of the audit after a number.
func (s *Service) audit(ctx context.Context, c Caller, after uint64, limit int) (client.AuditPage, error) {
	if limit < 0 || limit > 1000 {
		return client.AuditPage{}, task.Invalid("limit", "is not a number from 1 to 1000")
	}
	entries, next, err := s.cfg.Audit.Audit(ctx, c.By, after, limit)
	page := client.AuditPage{Items: []client.AuditEntry{}, Next: next}
	for i := range entries {
		page.Items = append(page.Items, entryOf(&entries[i]))
	}
	return page, err
}
