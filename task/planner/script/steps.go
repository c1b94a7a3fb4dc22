package script

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

// kinds are the keys of steps, and the functions that read their values.
var kinds = []struct {
	name string
	read func(strictyaml.Node) *step
}{
	{"message", func(n strictyaml.Node) *step { return &step{kind: directMessage, content: readContent(n)} }},
	{"status", readStatus},
	{"artifact", readArtifact},
	{"chunks", readChunks},
	{"call", func(n strictyaml.Node) *step { return &step{kind: toolCalls, calls: []call{readCall(n)}} }},
	{"calls", readCalls},
	{"wait", readWait},
	{"ask", func(n strictyaml.Node) *step { return &step{kind: asking, content: perhaps(n)} }},
	{"ask_auth", func(n strictyaml.Node) *step { return &step{kind: asking, content: perhaps(n), auth: true} }},
	{"complete", ends(a2a.TaskStateCompleted)},
	{"fail", ends(a2a.TaskStateFailed)},
	{"reject", ends(a2a.TaskStateRejected)},
	{"cancel", ends(a2a.TaskStateCanceled)},
	{"error", readError},
}

func ends(state a2a.TaskState) func(strictyaml.Node) *step {
	return func(n strictyaml.Node) *step { return &step{kind: ending, state: state, content: perhaps(n)} }
}

// readStep reads a step; it returns nil if it is invalid.
func readStep(n strictyaml.Node) *step {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	const what = "a step, which is a mapping with exactly one key"
	members, ok := n.Members(what, "; known are "+strictyaml.List(names))
	switch {
	case !ok:
		return nil
	case len(members) != 1:
		n.Add("expected %s, found %d; known are %s", what, len(members), strictyaml.List(names))
		return nil
	}
	m := members[0]
	if i := slices.Index(names, m.Name); i >= 0 {
		return kinds[i].read(m.Value)
	}
	m.Unknown(names)
	return nil
}

// readStatus reads a status step: nothing, a text, or a mapping.
func readStatus(n strictyaml.Node) *step {
	if !n.IsMapping() {
		return &step{kind: statusUpdate, content: perhaps(n)}
	}
	f, _ := n.Fields("text", "parts", "metadata")
	s := &step{kind: statusUpdate, metadata: f.Get("metadata").Object()}
	if !f.Get("text").Missing() || !f.Get("parts").Missing() {
		s.content = says(n, f)
	}
	return s
}

func readArtifact(n strictyaml.Node) *step {
	f, ok := n.Fields("id", "name", "description", "metadata", "extensions", "append", "text", "parts", "last_chunk")
	if !ok {
		return nil
	}
	return &step{kind: wholeArtifact, about: readAbout(f), content: says(n, f), last: truth(f.Get("last_chunk"), true)}
}

func readChunks(n strictyaml.Node) *step {
	f, ok := n.Fields("id", "name", "description", "metadata", "extensions", "append", "texts", "count", "text")
	if !ok {
		return nil
	}
	s := &step{kind: artifactChunks, about: readAbout(f)}
	list, count, text := f.Get("texts"), f.Get("count"), f.Get("text")
	switch {
	case !list.Missing() && (!count.Missing() || !text.Missing()):
		n.Add("texts is given with count or text; use texts alone, or count with text")
	case !list.Missing():
		if s.texts = texts(list); len(s.texts) > MaxChunks {
			list.Add("has %d entries, at most %d are allowed", len(s.texts), MaxChunks)
		}
		s.chunks = len(s.texts)
	case count.Missing() || text.Missing():
		n.Add("write texts, or count and text")
	default:
		count.Into(setting.Count(&s.chunks, 1, MaxChunks))
		s.text, _ = text.Text()
	}
	return s
}

func readAbout(f strictyaml.Fields) about {
	a := about{
		id: required(f.Get("id")), name: optional(f.Get("name")), description: optional(f.Get("description")),
		metadata: f.Get("metadata").Object(), append: truth(f.Get("append"), false),
	}
	if uris := f.Get("extensions"); !uris.Missing() {
		a.extensions = texts(uris)
	}
	return a
}

func readCalls(n strictyaml.Node) *step {
	all := entries(n, "calls")
	if len(all) > MaxCalls {
		n.Add("has %d calls, at most %d are allowed in one step; use several steps", len(all), MaxCalls)
		return nil
	}
	s := &step{kind: toolCalls, calls: make([]call, 0, len(all))}
	for _, e := range all {
		s.calls = append(s.calls, readCall(e))
	}
	return s
}

func readCall(n strictyaml.Node) call {
	f, ok := n.Fields("tool", "args", "alias")
	if !ok {
		return call{}
	}
	return call{tool: required(f.Get("tool")), alias: optional(f.Get("alias")), args: f.Get("args").Object()}
}

func readWait(n strictyaml.Node) *step {
	s := &step{kind: waiting}
	n.Into(setting.Duration(&s.duration, time.Millisecond))
	return s
}

// readError reads an error: its text, or {name, text}.
func readError(n strictyaml.Node) *step {
	s := &step{kind: failing, is: a2a.ErrUnsupportedOperation}
	if n.IsMapping() {
		f, ok := n.Fields("name", "text")
		if !ok {
			return s
		}
		if name := f.Get("name"); !name.Missing() {
			s.is, s.named = errorNamed(name), true
		}
		if n = f.Get("text"); n.Missing() {
			n.Expected("what went wrong", "")
			return s
		}
	}
	var ok bool
	if s.text, ok = n.Text(); ok && strings.TrimSpace(s.text) == "" {
		n.Add("must not be empty; write what went wrong")
	}
	return s
}

// errorNames are the names of the errors that may refuse a message, from A2A 1.0 §5.4,
// and two of JSON-RPC.
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

func errorNamed(n strictyaml.Node) error {
	name, ok := n.Text()
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
	n.Add("%s is not the name of an error%s", visible.Quote(name, 60), cmp.Or(suggest.DidYouMean(name, "", known), "; known are "+strictyaml.List(known)))
	return nil
}
