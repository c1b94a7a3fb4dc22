package tool_test

import (
	"context"
	"testing"

	"a2a-server/tool"
	"a2a-server/tool/toolconfirmation"
)

type reporter struct{ reports *int }

func (r reporter) Report(context.Context, tool.Progress) { *r.reports++ }

// Each function adds one thing to what a context offers, and the inner one of two counts.
func TestContextsOfOneCall(t *testing.T) {
	t.Parallel()
	reports := 0
	first, second := &tool.Resumption{State: []byte("1")}, &tool.Resumption{State: []byte("2")}
	outer := tool.ContextWithResumption(tool.ContextWithReporter(t.Context(), reporter{&reports}), first)
	inner := tool.ContextWithConfirmation(tool.ContextWithResumption(outer, second), &toolconfirmation.ToolConfirmation{Hint: "h"})

	tool.Report(inner, tool.Progress{Done: 1})
	if reports != 1 {
		t.Errorf("%d reports arrived, want 1", reports)
	}
	if got, ok := tool.Resumed(inner); !ok || got != second {
		t.Errorf("Resumed(inner) = %v, %t, want the inner one", got, ok)
	}
	if got, ok := tool.Resumed(outer); !ok || got != first {
		t.Errorf("Resumed(outer) = %v, %t, want the outer one", got, ok)
	}
	if tool.Confirmation(outer) != nil || tool.Confirmation(inner) == nil {
		t.Error("the confirmation belongs to the inner context only")
	}
}
