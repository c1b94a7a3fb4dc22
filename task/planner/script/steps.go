package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.yaml.in/yaml/v4"
)

// kinds are the keys of steps.
const kinds = "message, status, artifact, chunks, call, calls, wait, ask, ask_auth, complete, fail, reject, cancel and error"

// step reads one step; nil when it is none.
func (r *report) step(n *yaml.Node, key string) step {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[0].Kind != yaml.ScalarNode {
		r.add(n, key, "a step is a mapping with exactly one key; known are %s", kinds)
		return nil
	}
	kind, value := n.Content[0].Value, n.Content[1]
	at := join(key, kind)
	switch kind {
	case "message":
		return messageStep{r.content(value, at)}
	case "status":
		return r.status(value, at)
	case "artifact":
		return r.artifact(value, at)
	case "chunks":
		return r.chunks(value, at)
	case "call":
		return callStep{[]call{r.call(value, at)}}
	case "calls":
		return r.calls(value, at)
	case "wait":
		return r.wait(value, at)
	case "ask":
		return askStep{content: r.perhaps(value, at)}
	case "ask_auth":
		return askStep{content: r.perhaps(value, at), auth: true}
	case "complete":
		return r.end(value, at, a2a.TaskStateCompleted)
	case "fail":
		return r.end(value, at, a2a.TaskStateFailed)
	case "reject":
		return r.end(value, at, a2a.TaskStateRejected)
	case "cancel":
		return r.end(value, at, a2a.TaskStateCanceled)
	case "error":
		return r.failure(value, at)
	}
	r.add(n.Content[0], at, "unknown step; known are %s", kinds)
	return nil
}

// status reads what is said while the task is working: nothing, a text, or a mapping.
func (r *report) status(n *yaml.Node, key string) step {
	if n.Kind != yaml.MappingNode {
		return statusStep{content: r.perhaps(n, key)}
	}
	f, ok := r.mapping(n, key, "text", "parts", "metadata")
	if !ok {
		return statusStep{}
	}
	s := statusStep{metadata: r.object(f.get("metadata"), join(key, "metadata"))}
	if f.get("text") != nil || f.get("parts") != nil {
		s.content = r.says(n, f, key)
	}
	return s
}

func (r *report) artifact(n *yaml.Node, key string) step {
	f, ok := r.mapping(n, key, "id", "name", "description", "metadata", "extensions", "append", "text", "parts", "last_chunk")
	if !ok {
		return artifactStep{}
	}
	s := artifactStep{about: r.about(n, f, key), content: r.says(n, f, key), last: true}
	if last := f.get("last_chunk"); last != nil {
		s.last = r.boolean(last, join(key, "last_chunk"))
	}
	return s
}

func (r *report) chunks(n *yaml.Node, key string) step {
	f, ok := r.mapping(n, key, "id", "name", "description", "metadata", "extensions", "append", "texts", "count", "text")
	if !ok {
		return chunksStep{}
	}
	s := chunksStep{about: r.about(n, f, key)}
	texts, count, text := f.get("texts"), f.get("count"), f.get("text")
	switch {
	case texts != nil && (count != nil || text != nil):
		r.add(n, key, "texts is given with count or text; use texts alone, or count with text")
	case texts != nil:
		entries, ok := r.sequence(texts, join(key, "texts"))
		if ok && len(entries) > MaxChunks {
			r.add(texts, join(key, "texts"), "has %d entries, at most %d are allowed", len(entries), MaxChunks)
			return s
		}
		for i, e := range entries {
			if t, ok := r.str(e, fmt.Sprintf("%s.texts[%d]", key, i)); ok {
				s.texts = append(s.texts, t)
			}
		}
	case count == nil || text == nil:
		r.add(n, key, "write texts, or count and text")
	default:
		s.count = r.integer(count, join(key, "count"), 1, MaxChunks)
		s.text, _ = r.str(text, join(key, "text"))
	}
	return s
}

func (r *report) about(n *yaml.Node, f fields, key string) about {
	id, _ := r.required(n, f, key, "id")
	a := about{
		id: id, name: r.optional(f, key, "name"), description: r.optional(f, key, "description"),
		metadata: r.object(f.get("metadata"), join(key, "metadata")),
	}
	if more := f.get("append"); more != nil {
		a.append = r.boolean(more, join(key, "append"))
	}
	if uris := f.get("extensions"); uris != nil {
		entries, _ := r.sequence(uris, join(key, "extensions"))
		for i, e := range entries {
			if uri, ok := r.str(e, fmt.Sprintf("%s.extensions[%d]", key, i)); ok {
				a.extensions = append(a.extensions, uri)
			}
		}
	}
	return a
}

func (r *report) calls(n *yaml.Node, key string) step {
	entries, ok := r.sequence(n, key)
	if !ok {
		return callStep{}
	}
	if len(entries) > MaxCalls {
		r.add(n, key, "has %d calls, at most %d are allowed in one step; use several steps", len(entries), MaxCalls)
		return callStep{}
	}
	s := callStep{calls: make([]call, 0, len(entries))}
	for i, e := range entries {
		s.calls = append(s.calls, r.call(e, fmt.Sprintf("%s[%d]", key, i)))
	}
	return s
}

func (r *report) call(n *yaml.Node, key string) call {
	f, ok := r.mapping(n, key, "tool", "args", "alias")
	if !ok {
		return call{}
	}
	tool, _ := r.required(n, f, key, "tool")
	return call{tool: tool, alias: r.optional(f, key, "alias"), args: r.object(f.get("args"), join(key, "args"))}
}

func (r *report) wait(n *yaml.Node, key string) step {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < time.Millisecond {
		r.add(n, key, "expected a duration of at least 1ms, such as 50ms, 2s or 1h30m, found %s", kindOf(n))
	}
	return waitStep{d}
}

// failure reads an error: its text, or {name, text}.
func (r *report) failure(n *yaml.Node, key string) step {
	s := errorStep{is: a2a.ErrUnsupportedOperation}
	if n.Kind == yaml.MappingNode {
		f, ok := r.mapping(n, key, "name", "text")
		if !ok {
			return s
		}
		if name := f.get("name"); name != nil {
			s.is, s.named = r.errorNamed(name, join(key, "name")), true
		}
		text := f.get("text")
		if text == nil {
			r.add(n, join(key, "text"), "missing; write what went wrong")
			return s
		}
		n, key = text, join(key, "text")
	}
	var ok bool
	if s.text, ok = r.str(n, key); ok && strings.TrimSpace(s.text) == "" {
		r.add(n, key, "must not be empty; write what went wrong")
	}
	return s
}

// errorNames are the errors that may refuse a message, as A2A 1.0 §5.4 calls them, and
// two of JSON-RPC.
var errorNames = []struct {
	name string
	is   error
}{
	{"TaskNotFoundError", a2a.ErrTaskNotFound},
	{"TaskNotCancelableError", a2a.ErrTaskNotCancelable},
	{"PushNotificationNotSupportedError", a2a.ErrPushNotificationNotSupported},
	{"UnsupportedOperationError", a2a.ErrUnsupportedOperation},
	{"ContentTypeNotSupportedError", a2a.ErrUnsupportedContentType},
	{"InvalidAgentResponseError", a2a.ErrInvalidAgentResponse},
	{"ExtendedAgentCardNotConfiguredError", a2a.ErrExtendedCardNotConfigured},
	{"ExtensionSupportRequiredError", a2a.ErrExtensionSupportRequired},
	{"VersionNotSupportedError", a2a.ErrVersionNotSupported},
	{"InvalidParamsError", a2a.ErrInvalidParams},
	{"InternalError", a2a.ErrInternalError},
}

func (r *report) errorNamed(n *yaml.Node, key string) error {
	name, ok := r.str(n, key)
	if !ok {
		return nil
	}
	var known []string
	for _, e := range errorNames {
		if e.name == name {
			return e.is
		}
		known = append(known, e.name)
	}
	r.add(n, key, "%s is not the name of an error; known are %s", strconv.Quote(clip(name)), list(known))
	return nil
}

func (r *report) end(n *yaml.Node, key string, state a2a.TaskState) step {
	return endStep{state: state, content: r.perhaps(n, key)}
}
