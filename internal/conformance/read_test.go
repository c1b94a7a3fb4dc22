package conformance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// form is an encoding of the messages of A2A: JSON of 1.0, which is ProtoJSON, JSON-RPC's own
// JSON of 0.3, or the package a2a.v1 of 0.3. A message of gRPC is read and written as ProtoJSON.
type form struct {
	old     bool // 0.3
	kinds   bool // JSON-RPC of 0.3, whose objects say their kind
	numbers bool // gRPC, where an enum is a number, and a default is not there
}

// moment is the form of a time: UTC with milliseconds (§5.6.1).
var moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$`)

// compat marks data that 0.3 cannot have by itself, and that is wrapped in an object.
const compat = "data_part_compat"

// reader reads an answer, and keeps its first mistake.
type reader struct {
	form
	wrong error
}

func (r *reader) fail(format string, args ...any) {
	if r.wrong == nil {
		r.wrong = fmt.Errorf(format, args...)
	}
}

// object is an object of an answer. Each member is taken once; one that is left is a mistake.
type object struct {
	*reader
	members map[string]any
}

// read reads an answer that is one object.
func read[T any](f form, raw []byte, from func(object) *T) (*T, error) {
	r := &reader{form: f}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("%w in %s", err, raw)
	}
	out := from(r.objectOf(v))
	if r.wrong != nil {
		return nil, fmt.Errorf("%w in %s", r.wrong, raw)
	}
	return out, nil
}

func (r *reader) objectOf(v any) object {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail("%v is no object", v)
	}
	return object{r, m}
}

// take returns a member, which may be missing.
func take[T any](o object, name string) (v T) {
	got, there := o.members[name]
	if !there {
		return v
	}
	delete(o.members, name)
	if v, ok := got.(T); ok {
		return v
	}
	if got != nil {
		o.fail("%s is %v", name, got)
	}
	return v
}

// must returns a text that is required.
func (o object) must(name string) string {
	v := take[string](o, name)
	if v == "" {
		o.fail("%s is missing", name)
	}
	return v
}

func (o object) has(name string) bool { _, there := o.members[name]; return there }

func (o object) object(name string) object { return o.objectOf(take[any](o, name)) }

func (o object) texts(name string) (all []string) {
	for _, v := range take[[]any](o, name) {
		s, ok := v.(string)
		if !ok {
			o.fail("%s has %v", name, v)
		}
		all = append(all, s)
	}
	return all
}

// list reads a list of objects.
func list[T any](o object, name string, from func(object) *T) (all []T) {
	for _, v := range take[[]any](o, name) {
		if one := from(o.objectOf(v)); one != nil {
			all = append(all, *one)
		}
	}
	return all
}

// end fails if a member is left.
func (o object) end() {
	for name := range o.members {
		o.fail("there is a member %q", name)
	}
}

// kind takes the kind of an object, which only JSON-RPC of 0.3 says.
func (o object) kind(want string) {
	if o.kinds && take[string](o, "kind") != want {
		o.fail("the kind of a %s is another", want)
	}
}

func readTask(o object) *task {
	o.kind("task")
	t := &task{ID: o.must("id"), Context: o.must("contextId"), Metadata: take[map[string]any](o, "metadata"), noArtifacts: !o.has("artifacts")}
	t.State, t.at, t.Message = readStatus(o.object("status"))
	for _, name := range []string{"artifacts", "history"} { // an empty list is left out
		if all, is := o.members[name].([]any); is && len(all) == 0 && !o.old {
			o.fail("%s is empty", name)
		}
	}
	t.Artifacts, t.History = list(o, "artifacts", readArtifact), list(o, "history", readMessage)
	o.end()
	return t
}

func readStatus(o object) (state, at string, m *message) {
	state, at = o.state(o.must("state")), o.must("timestamp")
	if !moment.MatchString(at) {
		o.fail("the time of a status is %q", at)
	}
	if o.has("message") {
		m = readMessage(o.object("message"))
	}
	o.end()
	return state, strings.Replace(at, ".000Z", "Z", 1), m // ProtoJSON leaves out what is zero
}

// state returns the name of a state, such as input-required.
func (r *reader) state(name string) string {
	if r.kinds {
		if !slices.Contains([]string{"submitted", "working", "input-required", "completed", "canceled", "failed", "rejected", "auth-required", "unknown"}, name) {
			r.fail("%q is no state", name)
		}
		return name
	}
	state, ok := strings.CutPrefix(name, "TASK_STATE_")
	if !ok || state == "CANCELED" && r.old || state == "CANCELLED" && !r.old {
		r.fail("%q is no state", name)
	}
	return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(state, "CANCELLED", "CANCELED")), "_", "-")
}

// content is the name of the parts of a message: a2a.v1 calls them content in JSON.
func (f form) content() string {
	if f.old && !f.kinds && !f.numbers {
		return "content"
	}
	return "parts"
}

func readMessage(o object) *message {
	o.kind("message")
	m := &message{
		ID: o.must("messageId"), Task: take[string](o, "taskId"), Context: take[string](o, "contextId"), Parts: list(o, o.content(), readPart),
		Metadata: take[map[string]any](o, "metadata"), Extensions: o.texts("extensions"), References: o.texts("referenceTaskIds"),
	}
	role := o.must("role")
	if !o.kinds {
		role = strings.ToLower(strings.TrimPrefix(role, "ROLE_"))
	}
	if m.Role = role; role != "user" && role != "agent" || len(m.Parts) == 0 {
		o.fail("a message has the role %q and %d parts", role, len(m.Parts))
	}
	o.end()
	return m
}

func readArtifact(o object) *artifact {
	a := &artifact{
		ID: o.must("artifactId"), Name: take[string](o, "name"), Description: take[string](o, "description"), Parts: list(o, "parts", readPart),
		Metadata: take[map[string]any](o, "metadata"), Extensions: o.texts("extensions"),
	}
	if len(a.Parts) == 0 {
		o.fail("an artifact has no parts")
	}
	o.end()
	return a
}

func readPart(o object) *part {
	p := &part{Metadata: take[map[string]any](o, "metadata")}
	kind := take[string](o, "kind") // which is left over in other forms than JSON-RPC's of 0.3
	file, raw, url := o, "raw", "url"
	if o.old && o.has("file") {
		file = o.object("file")
		p.Name, p.Type = take[string](file, "name"), take[string](file, "mimeType")
		if raw, url = "fileWithBytes", "fileWithUri"; o.kinds {
			raw, url = "bytes", "uri"
		}
	} else if !o.old {
		p.Name, p.Type = take[string](o, "filename"), take[string](o, "mediaType")
	}
	switch {
	case o.has("text"):
		p.Kind, p.Text = "text", take[string](o, "text")
	case file.has(raw):
		p.Kind, p.Raw = "raw", o.base64(take[string](file, raw))
		if o.old && !o.kinds { // the SDKs of 0.3 put base64 into a field of bytes
			p.Raw = o.base64(string(p.Raw))
		}
	case file.has(url):
		p.Kind, p.URL = "url", take[string](file, url)
	case o.has("data"):
		p.Kind, p.Data = "data", take[any](o, "data")
		if o.old {
			p.Data, p.Metadata = o.unwrapped(p.Data, p.Metadata)
		}
	default:
		o.fail("a part has no content")
	}
	want := ""
	if o.kinds {
		want = map[string]string{"raw": "file", "url": "file"}[p.Kind]
		if want == "" {
			want = p.Kind
		}
	}
	if kind != want {
		o.fail("the kind of a part is %q, want %q", kind, want)
	}
	file.end()
	o.end()
	return p
}

func (r *reader) base64(text string) []byte {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		r.fail("%w", err)
	}
	return raw
}

// unwrapped returns the data of a part in 0.3, which has to be an object there.
func (r *reader) unwrapped(v any, metadata map[string]any) (value any, rest map[string]any) {
	o := r.objectOf(v)
	if !r.kinds {
		data := o.object("data")
		o.end()
		o = data
	}
	if metadata[compat] != true {
		return o.members, metadata
	}
	delete(metadata, compat)
	if len(metadata) == 0 {
		metadata = nil
	}
	return o.members["value"], metadata
}

// readEvent reads an event of a stream, or what a send is answered with.
func readEvent(o object) *event {
	of := []string{"task", "message", "statusUpdate", "artifactUpdate"}
	if o.kinds {
		names := map[any]string{"task": of[0], "message": of[1], "status-update": of[2], "artifact-update": of[3]}
		o = object{o.reader, map[string]any{names[o.members["kind"]]: o.members}}
	}
	if len(o.members) != 1 {
		o.fail("an event has %d members", len(o.members))
	}
	e := &event{}
	switch {
	case o.has(of[0]):
		e.Task = readTask(o.object(of[0]))
	case o.has(of[1]):
		e.Message = readMessage(o.object(of[1]))
	case o.has(of[2]):
		u := o.object(of[2])
		u.kind("status-update")
		if u.kinds && !u.has("final") {
			u.fail("a status update does not say whether it is final")
		}
		e.Status = &status{Task: u.must("taskId"), Context: u.must("contextId"), Metadata: take[map[string]any](u, "metadata")}
		if u.old {
			e.Status.final = take[bool](u, "final")
		}
		e.Status.State, _, e.Status.Message = readStatus(u.object("status"))
		u.end()
	case o.has(of[3]):
		u := o.object(of[3])
		u.kind("artifact-update")
		e.Artifact = &artChunk{
			Task: u.must("taskId"), Context: u.must("contextId"), Append: take[bool](u, "append"), Last: take[bool](u, "lastChunk"), Metadata: take[map[string]any](u, "metadata"),
		}
		if a := readArtifact(u.object("artifact")); a != nil {
			e.Artifact.Artifact = *a
		}
		u.end()
	}
	o.end()
	return e
}

// readSent reads what a send is answered with.
func readSent(o object) *sent {
	e := readEvent(o)
	if e.Task == nil && e.Message == nil {
		o.fail("a send is answered with neither a task nor a message")
	}
	return &sent{e.Task, e.Message}
}

func readPage(o object) *page {
	for _, name := range []string{"tasks", "nextPageToken", "pageSize", "totalSize"} { // gRPC leaves out a default
		if !o.old && !o.numbers && !o.has(name) {
			o.fail("%s is missing", name)
		}
	}
	p := &page{
		Tasks: list(o, "tasks", readTask), Size: int(take[float64](o, "pageSize")), Total: int(take[float64](o, "totalSize")), next: take[string](o, "nextPageToken"),
	}
	p.More = p.next != ""
	o.end()
	return p
}

func readPush(o object) *pushConfig {
	c, p := o, &pushConfig{}
	switch {
	case !o.old:
		p.Task = o.must("taskId")
	case o.kinds:
		p.Task, c = o.must("taskId"), o.object("pushNotificationConfig")
	default:
		name := strings.Split(o.must("name"), "/")
		c = o.object("pushNotificationConfig")
		if len(name) != 4 || name[0] != "tasks" || name[2] != "pushNotificationConfigs" || name[3] != c.members["id"] {
			o.fail("the name of a push config is %q", name)
			break
		}
		p.Task = name[1]
	}
	p.ID, p.URL, p.Token = c.must("id"), c.must("url"), take[string](c, "token")
	if c.has("authentication") {
		a := c.object("authentication")
		if p.Credentials = take[string](a, "credentials"); !a.old {
			p.Scheme = a.must("scheme")
		} else if all := a.texts("schemes"); len(all) == 1 {
			p.Scheme = all[0]
		} else {
			a.fail("a push config has the schemes %q", all)
		}
		a.end()
	}
	c.end()
	o.end()
	return p
}

// readPushes reads a list of push configs, which is bare in JSON-RPC of 0.3.
func readPushes(f form, raw []byte) ([]pushConfig, error) {
	if f.kinds {
		raw = slices.Concat([]byte(`{"configs":`), raw, []byte(`}`))
	}
	all, err := read(f, raw, func(o object) *[]pushConfig {
		if f.kinds && o.members["configs"] == nil {
			o.fail("there is no list")
		}
		_ = take[string](o, "nextPageToken")
		all := list(o, "configs", readPush)
		o.end()
		return &all
	})
	if err != nil {
		return nil, err
	}
	return *all, nil
}

// readCard reads the members of a card that a version has. It may have those of the other one.
func readCard(f form, raw []byte) (*card, error) {
	var in struct {
		Name, Description, Version, URL, PreferredTransport, ProtocolVersion string
		SupportedInterfaces                                                  []struct{ URL, ProtocolBinding, ProtocolVersion string }
		AdditionalInterfaces                                                 []struct{ URL, Transport string }
		Capabilities                                                         *struct {
			Streaming, PushNotifications, ExtendedAgentCard bool
			Extensions                                      []struct{ URI string }
		}
		SupportsAuthenticatedExtendedCard     bool
		DefaultInputModes, DefaultOutputModes []string
		Skills                                []struct {
			ID, Name, Description string
			Tags                  []string
		}
		SecuritySchemes map[string]map[string]any
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("%w in %s", err, raw)
	}
	lacks := in.Name == "" || in.Description == "" || in.Version == "" || in.Capabilities == nil || len(in.DefaultInputModes) == 0 || len(in.DefaultOutputModes) == 0 || len(in.Skills) == 0
	if f.old {
		lacks = lacks || in.URL == "" || !strings.HasPrefix(in.ProtocolVersion, "0.3")
	} else {
		lacks = lacks || len(in.SupportedInterfaces) == 0
	}
	out := &card{
		Name: in.Name, Description: in.Description, Version: in.Version, InputModes: in.DefaultInputModes, OutputModes: in.DefaultOutputModes, Interfaces: map[string][]string{},
	}
	for _, s := range in.Skills {
		lacks = lacks || s.ID == "" || s.Name == "" || s.Description == "" || len(s.Tags) == 0
		out.Skills = append(out.Skills, s.ID)
	}
	for name, s := range in.SecuritySchemes {
		lacks = lacks || len(s) == 0 || f.old && !f.numbers && s["type"] == nil || s["type"] == "apiKey" && (s["in"] == nil || s["name"] == nil)
		out.Schemes = append(out.Schemes, name)
	}
	if f.old {
		if in.PreferredTransport == "" {
			in.PreferredTransport = "JSONRPC"
		}
		out.Interfaces[in.PreferredTransport] = []string{"0.3"}
		for _, i := range in.AdditionalInterfaces {
			lacks = lacks || i.URL == ""
			out.Interfaces[i.Transport] = []string{"0.3"}
		}
	} else {
		for _, i := range in.SupportedInterfaces {
			lacks = lacks || i.URL == ""
			out.Interfaces[i.ProtocolBinding] = append(out.Interfaces[i.ProtocolBinding], i.ProtocolVersion)
		}
	}
	if lacks {
		return nil, fmt.Errorf("a card lacks something that is required: %s", raw)
	}
	out.Streaming, out.Push, out.Extended = in.Capabilities.Streaming, in.Capabilities.PushNotifications, in.Capabilities.ExtendedAgentCard
	if f.old {
		out.Extended = in.SupportsAuthenticatedExtendedCard
	}
	for _, e := range in.Capabilities.Extensions {
		out.Extensions = append(out.Extensions, e.URI)
	}
	return out, nil
}
