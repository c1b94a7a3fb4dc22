package toolconfirmation

import "strings"

// IsMark reports whether clients take a key in the metadata of a part or an event for a
// mark of the server's own: that the part is a question to answer, as ADK and kagent mark
// them, or a value of an extension for approvals. Nothing that a tool returns may have one.
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
