package v03

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// maxNamed is the size of a request, in bytes, up to which [NamesOf] looks at it.
const maxNamed = 64 << 10

// Names are the 0.3 names of the fields of a request, for errors that name them as 1.0 does.
type Names struct {
	operation                  string
	form                       Form
	plain                      bool   // data is not in an object with data
	message, parts, hook, file string // names that differ between the forms, and from request to request
	set                        string // prefix of the fields of a webhook that is set for a task
}

// NamesOf returns the names in a request for an operation of 1.0. If HTTP+JSON has several
// names for a field, it uses the name in the request.
func NamesOf(operation string, form Form, request []byte) Names {
	if form == JSONRPC {
		return Names{operation, form, true, "message", "parts", "pushNotificationConfig", "bytes", "pushNotificationConfig."}
	}
	n := Names{operation, form, false, "message", "content", "pushNotification", "fileWithBytes", "config.pushNotificationConfig."}
	var sent struct {
		Message       struct{ Parts json.RawMessage }
		Configuration struct{ PushNotificationConfig json.RawMessage }
		Set           json.RawMessage `json:"pushNotificationConfig"`
	}
	if len(request) > maxNamed || json.Unmarshal(request, &sent) != nil {
		return n
	}
	if sent.Message.Parts != nil {
		n.parts = "parts"
	}
	if bytes.Contains(request, []byte(`"kind"`)) { // the form of the specification's text
		n.file, n.plain = "bytes", true
	}
	if sent.Configuration.PushNotificationConfig != nil {
		n.hook = "pushNotificationConfig"
	}
	if sent.Set != nil {
		n.set = "pushNotificationConfig."
	}
	return n
}

// GRPCNames returns the names in a request over gRPC.
func GRPCNames(operation string) Names {
	n := NamesOf(operation, REST, nil)
	n.message = "request"
	return n
}

// Field returns the name of a field, such as message.parts[0], and its fault. A name of 0.3
// stays as it is.
func (n Names) Field(field, reason string) (name, why string) {
	first, rest, _ := strings.Cut(field, ".")
	switch {
	case n.operation == "ListTasks" && field == "statusTimestampAfter":
		field = "lastUpdatedTime"
	case n.operation == "CreateTaskPushNotificationConfig":
		if first == "url" || first == "token" || first == "authentication" || first == "id" {
			field = n.set + field
		}
	case strings.HasSuffix(n.operation, "PushNotificationConfig"), strings.HasSuffix(n.operation, "PushNotificationConfigs"):
		if n.form == JSONRPC && field == "taskId" {
			field = "id"
		} else if n.form == JSONRPC && field == "id" {
			field = "pushNotificationConfigId"
		}
	case first == "configuration":
		if _, of, is := strings.Cut(rest, "taskPushNotificationConfig"); is {
			field = first + "." + n.hook + of
		}
	case first == "message":
		if of, is := strings.CutPrefix(rest, "parts"); is && (of == "" || of[0] == '[') {
			rest = n.parts + n.within(of)
		}
		if field = n.message; rest != "" {
			field += "." + rest
		}
		if n.form == JSONRPC && rest == "role" && reason == "must be ROLE_USER" {
			reason = `must be "user"`
		}
	}
	if strings.HasSuffix(field, "authentication.scheme") {
		field += "s"
	}
	return field, reason
}

// within returns a path within the parts.
func (n Names) within(path string) string {
	if index, of, is := strings.Cut(path, "].data"); is && !n.plain && !strings.Contains(index, ".") {
		return index + "].data.data" + of
	}
	return path
}

// position is where decoding of the request of 1.0 has failed, which the client has not sent.
var position = regexp.MustCompile(` ?\(line \d+:\d+\)`)

// Undecoded returns why a request cannot be decoded, from why that of 1.0 cannot.
func (n Names) Undecoded(reason string) string {
	reason = strings.TrimPrefix(position.ReplaceAllString(reason, ""), ": ")
	return strings.Replace(reason, " field raw:", " field "+n.file+":", 1)
}
