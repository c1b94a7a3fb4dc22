package tool

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoAnswer is wrapped by the errors of [AskAndWait] that say that a question has no answer,
// and will not get any.
var ErrNoAnswer = errors.New("the question has no answer")

// An Asker asks people questions for a running call.
type Asker interface {
	// AskAndWait returns the answer to a question, or an error that wraps ErrNoAnswer or is
	// the cause of the end of ctx.
	AskAndWait(ctx context.Context, a Question) (Answer, error)
}

// AskAndWait asks people a question and holds the running call until it is answered: in words,
// with a form, or elsewhere ([AskQuestion], [AskForm], [AskAuth]). It is for tools that cannot
// be entered again, such as a tool that waits for its own process or connection. Other tools
// return a [Suspension]: that survives a restart and needs no memory.
//
// The question is durable before it is visible, and so is the answer before AskAndWait returns
// it. Its State is AnswerResponded with a Response (that fits the Schema), AnswerRejected, or
// AnswerExpired. The answer is for this run only: if the process stops, the question is
// closed, and the call is treated like any other that was running.
//
// While its question is open the call does not use up its time limit, and its task waits for
// input. An answer is waited for until the question's deadline, at most one hour, even if a
// rule says that an approval stays pending after its deadline. A call asks one question at a
// time, and at most 64 in one run; an eighth of limits.running_tasks bounds how many calls wait. When
// the server shuts down, the questions are closed first, so that calls can still end.
//
// An error that wraps ErrNoAnswer says that there is no answer and why; the call may continue
// without it. If ctx ends, the error is its cause, and the question is closed, as it is when
// the call returns. An answer authorizes nothing; to confirm an action, use
// [RequestConfirmation].
func AskAndWait(ctx context.Context, a Question) (Answer, error) {
	asker := callValues(ctx).Asker
	if asker == nil {
		return Answer{}, fmt.Errorf("%w: only a running call can wait for an answer", ErrNoAnswer)
	}
	return asker.AskAndWait(ctx, a)
}
