package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/internal/failure"
	"a2a-server/internal/httpd"
	"a2a-server/internal/sight"
	"a2a-server/internal/visible"
	"a2a-server/task"
)

// problemCase documents a reason: its statuses, its cause, and the next step.
type problemCase struct {
	Reason     string
	Title      string // of its problems
	Statuses   []int
	When, Next string // sentences in Markdown
}

// cases returns every reason. docs/errors.md is generated from it.
func cases() []problemCase {
	return []problemCase{
		{client.ReasonInvalid, "A field is missing or wrong", []int{400, 405, 408, 413, 415}, "A parameter, a member of the body or the request is missing, unknown or wrong.", "Correct the `fields`, or the fault in `detail`."},
		{client.ReasonUnauthenticated, "The caller could not be authenticated", []int{401}, "The caller could not be authenticated.", "Send a credential of a kind in `WWW-Authenticate`."},
		{client.ReasonRole, "The caller may not do this", []int{403}, "The caller has no role for this, or the request is from another site's page.", "Ask the operator for a role in `detail`, or to extend `allowed_origins`."},
		{client.ReasonNotFound, "There is nothing with this id or path", []int{404}, "There is no such path, approval or task for this caller.", "Check the id and your credential: `GET /whoami` shows its caller."},
		{client.ReasonConflict, "The approval was decided otherwise", []int{409}, "The approval was decided differently, or replaced.", "Nothing: that is final. `approval` has author and time."},
		{client.ReasonExpired, "The approval's deadline has passed", []int{410}, "The deadline of the approval has passed.", "If still wanted, have the call requested again."},
		{client.ReasonChanged, "The approval is not what was shown", []int{412}, "The digest is not that of the approval.", "Review `approval` again, and decide with its digest."},
		{client.ReasonNotAllowed, "This decision is not allowed", []int{403}, "This caller, or this type of decision, is not allowed.", "Have its `approvers` decide, or use a type in `decisions`."},
		{client.ReasonBatch, "Another decision about the same task was refused", []int{424}, "Another decision of the batch on this task was refused, so this does not count either.", "Correct the other, and send both again."},
		{client.ReasonState, "The task does not allow this in its state", []int{409}, "The task has ended, or has to end first.", "Read the task for its state."},
		{client.ReasonTooMany, "Too many requests", []int{429}, "The caller exceeds `limits.rate`, or its address `limits.auth_failures`.", "Wait for `Retry-After`."},
		{client.ReasonBusy, "The server cannot do this now", []int{503}, "The server is at a limit, cannot write now, or is stopping. Nothing was written.", "Retry after `Retry-After`, with backoff."},
		{client.ReasonDataLoss, "Stored data is damaged", []int{500, 503}, "Stored data is damaged.", "Have a backup restored."},
		{client.ReasonUnclear, "It is unknown whether the change was made", []int{500}, "The server failed during a change, which may have been made.", "Read the approval or task before you retry."},
		{client.ReasonInternal, "The server has failed", []int{500}, "The server has failed. Nothing was changed.", "Retry once, then tell the operator; the log has the cause."},
	}
}

// titles are the titles of problems, by reason.
var titles = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, c := range cases() {
		all[c.Reason] = c.Title
	}
	return all
})

func problem(status int, reason, detail string) *client.Error {
	e := &client.Error{Status: status, Reason: reason, Title: titles()[reason], Detail: detail}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		e.RetryAfter = 1
	}
	return e
}

// ofKind has the problem for every kind of failure except faulty requests and decisions.
var ofKind = map[failure.Kind]struct {
	status         int
	reason, detail string // detail: when the failure has no words of its own
}{
	failure.Internal:      {http.StatusInternalServerError, client.ReasonInternal, "the server has failed: its log has the reason"},
	failure.Planner:       {http.StatusInternalServerError, client.ReasonInternal, ""},
	failure.Recorded:      {http.StatusInternalServerError, client.ReasonUnclear, ""},
	failure.RecordedLoss:  {http.StatusInternalServerError, client.ReasonUnclear, ""},
	failure.Denied:        {http.StatusForbidden, client.ReasonRole, ""},
	failure.NotFound:      {http.StatusNotFound, client.ReasonNotFound, "there is no such task, or it belongs to somebody else: list the tasks that you may see"},
	failure.Invalid:       {http.StatusBadRequest, client.ReasonInvalid, ""},
	failure.State:         {http.StatusConflict, client.ReasonState, ""},
	failure.NotCancelable: {http.StatusConflict, client.ReasonState, ""},
	failure.NotDeletable:  {http.StatusConflict, client.ReasonState, ""},
	failure.NoPush:        {http.StatusConflict, client.ReasonState, "this server sends no push notifications"},
	failure.Uncertain:     {http.StatusInternalServerError, client.ReasonUnclear, ""},
	failure.Stopping:      {http.StatusServiceUnavailable, client.ReasonBusy, "the server is stopping: try again later"},
	failure.Busy:          {http.StatusServiceUnavailable, client.ReasonBusy, ""},
	failure.DiskFull:      {http.StatusServiceUnavailable, client.ReasonBusy, ""},
	failure.Ended:         {http.StatusServiceUnavailable, client.ReasonBusy, "the request took too long, or the server is stopping: try again later"},
	failure.DataLoss:      {http.StatusInternalServerError, client.ReasonDataLoss, "what is stored is damaged and cannot be read: the server's operator has to restore a backup (docs/operations.md)"},
}

// Problem returns the problem that err is.
func Problem(err error) *client.Error {
	if own, is := errors.AsType[*client.Error](err); is {
		return own
	}
	f := failure.Of(err)
	if refused, is := f.Cause.(*httpd.Error); is {
		return refusal(refused)
	}
	if wrong, is := errors.AsType[*approval.Error](f.Cause); is && f.Kind < failure.Recorded {
		return decision(wrong)
	}
	row := ofKind[f.Kind]
	e := problem(row.status, row.reason, cmp.Or(f.Message, row.detail))
	if invalid, is := f.Cause.(*task.InvalidError); is {
		e.Fields = []client.FieldError{{Field: invalid.Field, Description: invalid.Reason}}
	}
	return e
}

// decision returns the problem of a decision.
func decision(wrong *approval.Error) *client.Error {
	e := &client.Error{Status: http.StatusConflict, Reason: client.ReasonConflict}
	switch wrong.Reason { //nolint:exhaustive // all others are conflicts
	case approval.ReasonUnknown:
		return problem(http.StatusNotFound, client.ReasonNotFound, "there is no such approval, or it belongs to somebody else: list the approvals that you may see")
	case approval.ReasonMalformed:
		return malformed(wrong)
	case approval.ReasonNotAllowed:
		e.Status, e.Reason = http.StatusForbidden, client.ReasonNotAllowed
	case approval.ReasonExpired:
		e.Status, e.Reason = http.StatusGone, client.ReasonExpired
	case approval.ReasonChanged:
		e.Status, e.Reason = http.StatusPreconditionFailed, client.ReasonChanged
	}
	return problem(e.Status, e.Reason, wrong.Message)
}

// malformed returns the problem of a decision with wrong fields, which have other names here.
func malformed(wrong *approval.Error) *client.Error {
	var fields []client.FieldError
	here := make([]approval.Violation, len(wrong.Violations))
	for i, v := range wrong.Violations {
		here[i] = approval.Violation{Field: fieldOf(v.Field), Description: v.Description}
		fields = append(fields, client.FieldError{Field: here[i].Field, Description: v.Description})
	}
	e := problem(http.StatusBadRequest, client.ReasonInvalid, approval.Malformed(wrong.ID, wrong.Next, here...).Message)
	e.Fields = fields
	return e
}

// fieldOf returns the name that a field of a decision has here.
func fieldOf(name string) string {
	if rest, is := strings.CutPrefix(name, "args"); is && (rest == "" || rest[0] == '/') {
		return "arguments" + rest
	}
	return name
}

// refusal returns the problem of a request that was refused before an operation saw it.
func refusal(r *httpd.Error) *client.Error {
	reason, detail := client.ReasonInvalid, r.Message
	switch r.Status {
	case http.StatusUnauthorized:
		reason = client.ReasonUnauthenticated
		if detail == "" {
			detail = "send a credential of a kind listed in WWW-Authenticate"
		}
	case http.StatusForbidden:
		reason = client.ReasonRole
	case http.StatusTooManyRequests:
		reason = client.ReasonTooMany
	case http.StatusServiceUnavailable:
		reason = client.ReasonBusy
	case http.StatusUnsupportedMediaType:
		if detail == "" {
			detail = "the Content-Type must be application/json, in UTF-8"
		}
	case http.StatusRequestEntityTooLarge:
		if detail == "" {
			detail = "the request is larger than this server accepts"
		}
	}
	e := problem(r.Status, reason, detail)
	if r.After > 0 {
		e.RetryAfter = r.After
	}
	return e
}

// problem returns the problem of an error about an approval, with the approval as it is now
// where that helps, and logs unexpected errors.
func (s *Service) problem(ctx context.Context, c Caller, err error, id string) *client.Error {
	p := Problem(err)
	if p.Status >= http.StatusInternalServerError && p.Reason != client.ReasonBusy {
		s.cfg.Log.Error().Err(err).Str("about", visible.Clip(id, 100)).Str("reason", p.Reason).Msg("a request to the approvals API failed")
	}
	switch p.Reason {
	case client.ReasonConflict, client.ReasonExpired, client.ReasonChanged:
		list := s.approvals(c)
		if a, err := list.Get(ctx, c.By, id); err == nil {
			now, with := s.seen(c, list, a, sight.Approval), *p
			with.Approval = &now
			return &with
		}
	}
	return p
}
