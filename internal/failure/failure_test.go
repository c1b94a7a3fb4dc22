package failure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/failure"
	"a2a-server/internal/httpd"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

func TestOf(t *testing.T) {
	t.Parallel()
	wrong := &approval.Error{Reason: approval.ReasonConflict, Message: "decided"}
	for _, c := range []struct {
		name string
		err  error
		want failure.Kind
	}{
		{"unknown", errors.New("a planner's"), failure.Internal},
		{"refused", &httpd.Error{Status: 401}, failure.Refused},
		{"no role", &auth.DeniedError{}, failure.Denied},
		{"no task", task.ErrTaskNotFound, failure.NotFound},
		{"field", task.Invalid("message", "is missing"), failure.Invalid},
		{"decision", wrong, failure.Decision},
		{"state", &task.StateError{}, failure.State},
		{"state that a decision explains", &task.StateError{Decided: wrong}, failure.State},
		{"not cancelable", &task.StateError{NotCancelable: true}, failure.NotCancelable},
		{"not deletable", &engine.NotDeletableError{}, failure.NotDeletable},
		{"no push", engine.ErrNoPush, failure.NoPush},
		{"busy", &engine.BusyError{Why: "full"}, failure.Busy},
		{"busy with answers", &engine.AnswersError{}, failure.Busy},
		{"unavailable", store.ErrUnavailable, failure.Busy},
		{"disk", &engine.DiskError{}, failure.DiskFull},
		{"data loss", store.ErrDataLoss, failure.DataLoss},
		{"shutdown", httpd.ErrStopping, failure.Stopping},
		{"gone", context.Canceled, failure.Ended},
		{"too long", context.DeadlineExceeded, failure.Ended},
		{"shutdown while it was written", fmt.Errorf("%w; %w", httpd.ErrStopping, engine.ErrUncertain), failure.Uncertain},
		{"gone while it was written", fmt.Errorf("%w; %w", context.Canceled, engine.ErrUncertain), failure.Uncertain},
		{"shutdown of a store that cannot write", fmt.Errorf("%w: %w", store.ErrUnavailable, httpd.ErrStopping), failure.Stopping},
		{"field, and gone", errors.Join(context.Canceled, task.Invalid("message", "is missing")), failure.Invalid},
		{"planner", &task.PlannerError{Cause: errors.New("its own")}, failure.Planner},
		{"planner that refuses", &task.PlannerError{Cause: task.Invalid("message", "is missing")}, failure.Invalid},
		{"planner, and too long", &task.PlannerError{Cause: context.DeadlineExceeded}, failure.Ended},
		{"recorded, then refused", errors.Join(&httpd.Error{Status: 401}, &engine.RecordedError{Cause: wrong}), failure.Recorded},
		{"recorded", &engine.RecordedError{Cause: engine.ErrBusy}, failure.Recorded},
		{"recorded, then uncertain", &engine.RecordedError{Cause: engine.ErrUncertain}, failure.Recorded},
		{"recorded, then damaged", &engine.RecordedError{Cause: store.ErrDataLoss}, failure.RecordedLoss},
	} {
		logged := c.want == failure.Internal || c.want == failure.Planner || c.want == failure.DataLoss
		if got := failure.Of(fmt.Errorf("on the way: %w", c.err)); got.Kind != c.want || got.Logged() != logged {
			t.Errorf("%s: kind %d, logged %v, want kind %d", c.name, got.Kind, got.Logged(), c.want)
		}
	}
}
