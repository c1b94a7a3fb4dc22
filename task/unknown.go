package task

import (
	"strings"

	"a2a-server/tool"
)

// unknownWhy returns for people what a tool says about an outcome that it does not know,
// without the words of [tool.ErrOutcomeUnknown], which the question has anyway.
func unknownWhy(err error) string {
	sentinel := tool.ErrOutcomeUnknown.Error()
	says := strings.TrimSuffix(strings.TrimPrefix(err.Error(), sentinel), sentinel)
	if says = strings.Trim(says, ":. \t\r\n"); says == "" {
		return "the tool does not say why"
	}
	return "the tool reports: " + says
}

// unknownLate returns the error of a run whose outcome is unknown and which nobody waits
// for any more. It says that the outcome is unknown, whatever the tool's error says.
func unknownLate(err error) string {
	sentinel, says := tool.ErrOutcomeUnknown.Error(), err.Error()
	if strings.Contains(says, sentinel) {
		return says
	}
	return sentinel + ": " + says
}
