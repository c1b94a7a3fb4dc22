package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/httpd"
	"a2a-server/internal/visible"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// titles are the titles of problems, by reason.
var titles = map[string]string{
	client.ReasonUnauthenticated: "The caller could not be authenticated",
	client.ReasonRole:            "The caller may not do this",
	client.ReasonNotFound:        "There is nothing with this id or path",
	client.ReasonInvalid:         "A field is missing or wrong",
	client.ReasonConflict:        "The approval was decided otherwise",
	client.ReasonExpired:         "The approval's deadline has passed",
	client.ReasonChanged:         "The approval is not what was shown",
	client.ReasonNotAllowed:      "This decision is not allowed",
	client.ReasonBatch:           "Another decision about the same task was refused",
	client.ReasonState:           "The task does not allow this in its state",
	client.ReasonTooMany:         "Too many requests",
	client.ReasonBusy:            "The server cannot do this now",
	client.ReasonDataLoss:        "Stored data is damaged",
	client.ReasonUnclear:         "It is unknown whether the change was made",
	client.ReasonInternal:        "The server has failed",
}

func problem(status int, reason, detail string) *client.Error {
	e := &client.Error{Status: status, Reason: reason, Title: titles[reason], Detail: detail}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		e.RetryAfter = 1
	}
	return e
}

// Problem is the only mapping from domain errors to those of the API. Every other error is
// [client.ReasonInternal]; the caller logs its cause.
func Problem(err error) *client.Error {
	var own *client.Error
	var refused *httpd.Error
	var denied *auth.DeniedError
	var wrong *approval.Error
	var invalid *task.InvalidError
	var state *task.StateError
	var not *engine.NotDeletableError
	var recorded *engine.RecordedError
	var busy *engine.BusyError
	var answers *engine.AnswersError
	var disk *engine.DiskError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		return refusal(refused)
	case errors.As(err, &denied):
		return problem(http.StatusForbidden, client.ReasonRole, denied.Error())
	case errors.As(err, &state) && state.Decided != nil:
		return decision(state.Decided)
	case errors.As(err, &wrong):
		return decision(wrong)
	case errors.Is(err, task.ErrTaskNotFound):
		return problem(http.StatusNotFound, client.ReasonNotFound, "there is no such task, or it belongs to somebody else: list the tasks that you may see")
	case errors.As(err, &invalid):
		e := problem(http.StatusBadRequest, client.ReasonInvalid, invalid.Error())
		e.Fields = []client.FieldError{{Field: invalid.Field, Description: invalid.Reason}}
		return e
	case errors.As(err, &state):
		return problem(http.StatusConflict, client.ReasonState, state.Error())
	case errors.As(err, &not):
		return problem(http.StatusConflict, client.ReasonState, not.Error())
	case errors.As(err, &recorded):
		return problem(http.StatusInternalServerError, client.ReasonUnclear, recorded.Error())
	case errors.Is(err, engine.ErrUncertain):
		return problem(http.StatusInternalServerError, client.ReasonUnclear, "the server stopped while this was being written, and it may have been: look before you send it again")
	case errors.As(err, &busy), errors.As(err, &answers), errors.As(err, &disk), errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrUnavailable):
		return problem(http.StatusServiceUnavailable, client.ReasonBusy, err.Error())
	case errors.Is(err, engine.ErrReadOnly):
		return problem(http.StatusServiceUnavailable, client.ReasonDataLoss, "the store is damaged and read-only, and nothing was written: its operator has to restore a backup (docs/operations.md)")
	case interrupted(err):
		return problem(http.StatusServiceUnavailable, client.ReasonBusy, "the request took too long, or the server is stopping: try again later")
	case errors.Is(err, engine.ErrDataLoss):
		return problem(http.StatusInternalServerError, client.ReasonDataLoss, "what is stored is damaged and cannot be read: the server's operator has to restore a backup (docs/operations.md)")
	}
	return problem(http.StatusInternalServerError, client.ReasonInternal, "the server has failed: its log has the reason")
}

// interrupted reports whether err is that of a request whose context has ended.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// decision returns the problem of a decision.
func decision(wrong *approval.Error) *client.Error {
	var e *client.Error
	switch wrong.Reason {
	case approval.ReasonUnknown:
		return problem(http.StatusNotFound, client.ReasonNotFound, "there is no such approval, or it belongs to somebody else: list the approvals that you may see")
	case approval.ReasonMalformed:
		e = problem(http.StatusBadRequest, client.ReasonInvalid, wrong.Message)
	case approval.ReasonNotAllowed:
		e = problem(http.StatusForbidden, client.ReasonNotAllowed, wrong.Message)
	case approval.ReasonExpired:
		e = problem(http.StatusGone, client.ReasonExpired, wrong.Message)
	case approval.ReasonChanged:
		e = problem(http.StatusPreconditionFailed, client.ReasonChanged, wrong.Message)
	case approval.ReasonConflict, approval.ReasonDecided:
		e = problem(http.StatusConflict, client.ReasonConflict, wrong.Message)
	default:
		e = problem(http.StatusConflict, client.ReasonConflict, wrong.Message)
	}
	for _, v := range wrong.Violations {
		field := fieldOf(v.Field)
		e.Detail = strings.Replace(e.Detail, v.Field+": "+v.Description, field+": "+v.Description, 1)
		e.Fields = append(e.Fields, client.FieldError{Field: field, Description: v.Description})
	}
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
// where that helps, and logs what nobody expects.
func (s *Service) problem(ctx context.Context, c Caller, err error, id string) *client.Error {
	p := Problem(err)
	if p.Status >= http.StatusInternalServerError && p.Reason != client.ReasonBusy {
		s.cfg.Log.Error().Err(err).Str("about", visible.Clip(id, 100)).Str("reason", p.Reason).Msg("a request to the approvals API failed")
	}
	switch p.Reason {
	case client.ReasonConflict, client.ReasonExpired, client.ReasonChanged:
		if a, err := s.approvals(c).Get(ctx, c.By, id); err == nil {
			now, with := s.seen(c, a), *p
			with.Approval = &now
			return &with
		}
	}
	return p
}
