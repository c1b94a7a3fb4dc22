package tool

import (
	"context"
	"time"
)

// Attempt returns the number of the attempt that runs, from 1: a call whose outcome is unknown
// gets another attempt if a person or the policy lets it run again. A call that is resumed, or
// continued after a crash, remains the same attempt. 0: ctx is not that of a running call.
func Attempt(ctx context.Context) int { return callValues(ctx).Attempt }

// Private reports whether gates mask arguments of the call that runs, or keep its task: the words of its
// server or agent may repeat them, and do not belong into a log.
func Private(ctx context.Context) bool { return callValues(ctx).Private }

// DecidedAt returns when a person has let the call run that runs: the time of the approval or, by a grant, of
// the start. Zero: it runs without a person's decision.
func DecidedAt(ctx context.Context) time.Time { return callValues(ctx).DecidedAt }
