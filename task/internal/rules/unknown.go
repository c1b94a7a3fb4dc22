package rules

import (
	"strings"

	"a2a-server/tool"
)

// unknownWhy returns, for display, a tool's reason for an unknown outcome, without the words
// of [tool.ErrOutcomeUnknown], which the question has anyway.
func unknownWhy(err error) string {
	sentinel := tool.ErrOutcomeUnknown.Error()
	says := strings.TrimSuffix(strings.TrimPrefix(err.Error(), sentinel), sentinel)
	if says = strings.Trim(says, ":. \t\r\n"); says == "" {
		return "the tool does not say why"
	}
	return "the tool reports: " + says
}

// unknownLate returns the error of a run with an unknown outcome that ended too late for its
// caller. It says that the outcome is unknown, whatever the tool's error says.
func unknownLate(err error) string {
	sentinel, says := tool.ErrOutcomeUnknown.Error(), err.Error()
	if strings.Contains(says, sentinel) {
		return says
	}
	return sentinel + ": " + says
}
