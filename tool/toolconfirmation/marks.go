package toolconfirmation

import "strings"

// IsMark reports whether clients take a key in the metadata of a part or an event for a mark
// of the server's own: the mark of a question, as ADK and kagent have it, or a value of an
// extension for approvals. A tool's result may have none.
func IsMark(key string) bool {
	for _, prefix := range []string{
		"adk_", "kagent_", "urn:a2a-server:extension:",
		"https://kagent.dev/extensions/", "https://google.github.io/adk-docs/a2a/",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
