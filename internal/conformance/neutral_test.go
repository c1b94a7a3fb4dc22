package conformance

import "maps"

// These types are what a client gets and sends, whatever the binding and version. Times are
// left out: the clients check their form.

// task is a Task.
type task struct {
	ID        string
	Context   string
	State     string   // such as "input-required"
	Message   *message `json:",omitempty"` // of the status
	Artifacts []artifact
	History   []message
	Metadata  map[string]any `json:",omitempty"`

	noArtifacts bool   // the answer has no member for them
	at          string // the time of the status
}

// message is a Message.
type message struct {
	ID         string
	Task       string         `json:",omitempty"`
	Context    string         `json:",omitempty"`
	Role       string         // user or agent; a case may send others
	Parts      []part         `json:",omitempty"`
	Metadata   map[string]any `json:",omitempty"`
	Extensions []string       `json:",omitempty"`
	References []string       `json:",omitempty"` // to tasks
}

// part is a Part. One of its first four fields is its content, which Kind names.
type part struct {
	Kind     string         // text, raw, url or data; "": nothing
	Text     string         `json:",omitempty"`
	Raw      []byte         `json:",omitempty"`
	URL      string         `json:",omitempty"`
	Data     any            `json:",omitempty"`
	Name     string         `json:",omitempty"` // of a file
	Type     string         `json:",omitempty"` // media type
	Metadata map[string]any `json:",omitempty"`
}

// artifact is an Artifact.
type artifact struct {
	ID          string
	Name        string `json:",omitempty"`
	Description string `json:",omitempty"`
	Parts       []part
	Metadata    map[string]any `json:",omitempty"`
	Extensions  []string       `json:",omitempty"`
}

// event is one event of a stream: one of its fields is set.
type event struct {
	Task     *task     `json:",omitempty"`
	Message  *message  `json:",omitempty"`
	Status   *status   `json:",omitempty"`
	Artifact *artChunk `json:",omitempty"`

	id string // of the frame; "": the binding has none
}

// status is a TaskStatusUpdateEvent.
type status struct {
	Task     string
	Context  string
	State    string
	Message  *message       `json:",omitempty"`
	Metadata map[string]any `json:",omitempty"`

	final bool // only in 0.3
}

// artChunk is a TaskArtifactUpdateEvent.
type artChunk struct {
	Task     string
	Context  string
	Artifact artifact
	Append   bool
	Last     bool
	Metadata map[string]any `json:",omitempty"`
}

// sending is the request of SendMessage and SendStreamingMessage.
type sending struct {
	Message  *message
	Now      *bool // answer at once: returnImmediately, or not blocking
	History  *int
	Modes    []string
	Push     *pushConfig
	Metadata map[string]any
}

// sent is what SendMessage answers: one of both.
type sent struct {
	Task    *task    `json:",omitempty"`
	Message *message `json:",omitempty"`
}

// listing is the request of ListTasks. Its zero fields are left out.
type listing struct {
	Context   string
	State     string
	Size      *int
	Token     string
	History   *int
	Artifacts bool
	Since     string
}

// page is what ListTasks answers.
type page struct {
	Tasks []task
	Size  int
	Total int
	More  bool // there is a token for the next page

	next string
}

// pushConfig is a push notification config.
type pushConfig struct {
	Task        string
	ID          string
	URL         string
	Token       string `json:",omitempty"`
	Scheme      string `json:",omitempty"`
	Credentials string `json:",omitempty"`
}

// card is what all forms of an agent card have in common.
type card struct {
	Name, Description, Version string
	Skills                     []string // their ids
	Streaming, Push, Extended  bool
	InputModes, OutputModes    []string
	Schemes                    []string            // of security, by name
	Interfaces                 map[string][]string // versions by binding, as this version of the card tells
	Extensions                 []string
}

func ptr[T any](v T) *T { return &v }

func text(s string) part { return part{Kind: "text", Text: s} }

func data(v any) part { return part{Kind: "data", Data: v} }

// with returns p with more metadata.
func (p part) with(name string, value any) part {
	p.Metadata = maps.Clone(p.Metadata)
	if p.Metadata == nil {
		p.Metadata = map[string]any{}
	}
	p.Metadata[name] = value
	return p
}

// over reports whether a state is final.
func over(state string) bool {
	switch state {
	case "completed", "failed", "canceled", "rejected":
		return true
	}
	return false
}

// texts returns the text parts, joined.
func texts(parts []part) string {
	all := ""
	for _, p := range parts {
		all += p.Text
	}
	return all
}
