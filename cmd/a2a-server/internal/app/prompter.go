package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/approvals"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/tasks"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// prompter prints the events of a task, and asks the person at the terminal.
type prompter struct {
	stdout, stderr stream
	person         bool            // a person is at the terminal
	board          *board          // nil: the form is not rich
	raw            bool            // events are printed as JSON
	begun          map[string]bool // ids of artifacts that were printed, or a chunk of them

	quiet    bool // results are not printed: they only say that the call was rejected
	keyboard terminal.Keyboard
}

// stream is an output of a prompter. After an error nothing more is written to it.
type stream struct {
	io.Writer
	escapes bool  // invisible characters, which could change other parts of the screen
	open    bool  // the last line has no end yet
	err     error // of the first write that failed
}

func (s *stream) write(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s, text)
	}
}

// print prints a text of a tool.
func (s *stream) print(text string) {
	if text == "" {
		return
	}
	s.open = !strings.HasSuffix(text, "\n")
	if s.escapes {
		text = visible.Text(text)
	}
	s.write(text)
}

// end ends the last line, if it is open.
func (s *stream) end() {
	if s.open {
		s.open = false
		s.write("\n")
	}
}

// broken returns the error of the first write that failed; nil: none did.
func (d *prompter) broken() error {
	if d.stdout.err != nil {
		return d.stdout.err
	}
	return d.stderr.err
}

// event is the part of an A2A StreamResponse that is read.
type event struct {
	Task     *update         `json:"task"`
	Status   *update         `json:"statusUpdate"`
	Artifact *artifactUpdate `json:"artifactUpdate"`
}

// readEvent reads an event. update is its status; nil: it has none.
func readEvent(data json.RawMessage) (e event, u *update, err error) {
	if err := json.Unmarshal(data, &e); err != nil {
		return e, nil, fmt.Errorf("an event of the call: %w", err)
	}
	return e, cmp.Or(e.Status, e.Task), nil
}

// update is a status of a task.
type update struct {
	Status struct {
		State, Timestamp string
		Message          *struct {
			Parts    []part
			Metadata struct {
				Approvals json.RawMessage `json:"urn:a2a-server:extension:tool-approval:v1"`
			}
		}
	}
	Metadata struct {
		Progress *progress `json:"urn:a2a-server:progress"`
	}
}

// artifactUpdate is an artifact, or a chunk of it.
type artifactUpdate struct {
	Artifact struct {
		ArtifactID, Name string
		Parts            []part
		Metadata         metadata
	}
	Metadata          metadata
	Append, LastChunk bool
}

// progress is how far a call is.
type progress struct {
	CallID, Tool string
	Done, Total  float64
	Message, Job string
}

// text returns the progress on a single line.
func (p *progress) text() string {
	if p.Job != "" && p.Done == 0 && p.Total == 0 && p.Message == "" {
		return "job: " + visible.Line(p.Job)
	}
	text := fmt.Sprintf("progress: %g", p.Done)
	if p.Total > 0 {
		text += fmt.Sprintf(" of %g", p.Total)
	}
	return text + display.After(" ", visible.Line(p.Message))
}

// metadata is the metadata of an artifact or of a chunk.
type metadata struct {
	Stream string
	Error  string `json:"urn:a2a-server:error"`
}

// part is a part of an artifact.
type part struct {
	Text      *string
	Data      json.RawMessage
	Raw       []byte
	URL       string
	Filename  string
	MediaType string
}

// show prints an event, and returns its status; nil: it has none.
func (d *prompter) show(data json.RawMessage) (*update, error) {
	e, u, err := readEvent(data)
	if d.raw {
		d.stdout.write(visible.Line(string(data)) + "\n") // escaped as in JSON
		return u, d.broken()
	}
	if err != nil {
		return nil, err
	}
	if e.Status != nil && e.Status.Metadata.Progress != nil {
		if p := e.Status.Metadata.Progress; d.board == nil {
			d.note(p.text())
		} else {
			d.board.call(p.CallID, p.Tool).stands = p.text()
		}
	}
	if e.Artifact != nil && !d.quiet {
		d.artifact(e.Artifact)
	}
	return u, d.broken()
}

// artifact prints an artifact, or a chunk of it.
func (d *prompter) artifact(u *artifactUpdate) {
	id, about := u.Artifact.ArtifactID, u.Metadata
	if about == (metadata{}) {
		about = u.Artifact.Metadata
	}
	first := !d.begun[id]
	if !first && !u.Append {
		d.note(visible.Line(id) + ": the result starts over, and replaces its printed part")
	}
	if d.begun == nil {
		d.begun = map[string]bool{}
	}
	d.begun[id] = true
	line, above := "", false
	switch {
	case d.board != nil:
		line = d.board.chunk(id, u.Artifact.Name, u.LastChunk, about.Error)
		above = first // a whole result
	case about.Error != "":
		line = "error: " + visible.Text(about.Error)
	}
	if line != "" && above {
		d.note(line)
	}
	d.parts(u.Artifact.Parts, about.Stream == "stderr")
	if line != "" && !above {
		d.note(line)
	}
}

// parts prints the parts of an artifact.
func (d *prompter) parts(parts []part, isError bool) {
	for i, one := range parts {
		if i == 0 || one.Text == nil || *one.Text != readable(parts[i-1].Data) { // else it is the same value again, for clients that show only text
			d.part(one, isError)
		}
	}
}

// part prints a part of an artifact.
func (d *prompter) part(p part, isError bool) {
	switch {
	case p.Text != nil && isError:
		d.stderr.print(*p.Text)
	case p.Text != nil:
		d.stdout.print(*p.Text)
	case p.URL != "":
		d.stdout.print(describeFile(p) + p.URL + "\n")
	case p.Raw != nil:
		d.stdout.print(describeFile(p) + fmt.Sprintf("%d bytes\n", len(p.Raw)))
	default:
		d.stdout.print(readable(p.Data) + "\n")
	}
}

// unescaped undoes the escapes that JSON has for HTML, but not after an escaped backslash.
var unescaped = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// readable returns JSON as the text beside it has it.
func readable(data json.RawMessage) string { return unescaped.Replace(string(data)) }

// describeFile names a file that is a part of an artifact.
func describeFile(p part) string {
	text := "file"
	if p.Filename != "" {
		text += " " + visible.Quote(p.Filename, 200)
	}
	if p.MediaType != "" {
		text += " (" + visible.Clip(p.MediaType, 100) + ")"
	}
	return text + ": "
}

// end ends the lines that are open.
func (d *prompter) end() {
	d.stdout.end()
	d.stderr.end()
}

// state keeps the state of the task for draw.
func (d *prompter) state(state string) {
	if d.board != nil {
		d.board.state = state
	}
}

// draw shows how the task stands, unless a line of a result has no end yet.
func (d *prompter) draw() {
	if d.board == nil || d.stdout.open || d.stderr.open || d.stderr.err != nil {
		return
	}
	d.stderr.err = d.board.draw()
}

// leave ends the lines that are open, and leaves the state of the task on the screen.
func (d *prompter) leave() {
	d.end()
	if d.board != nil {
		if tasks.Ended(d.board.state) {
			d.board.calls = nil
		}
		d.draw()
		d.board.calls, d.board.drawn = nil, 0
	}
	d.begun = nil
}

// note prints a line that is not part of the result. It begins a line on the screen,
// whatever the tool has printed.
func (d *prompter) note(text string) {
	d.stderr.end()
	if d.stdout.escapes { // it is on the same screen
		d.stdout.end()
	}
	d.stderr.write(text + "\n")
}

// ask prints a prompt and returns the line that the person writes.
func (d *prompter) ask(ctx context.Context, prompt string) (string, error) {
	if err := d.broken(); err != nil {
		return "", err
	}
	return d.keyboard.Ask(ctx, prompt)
}

// choices are the decisions that a person can write, in the order of the prompt: a word for each,
// which the prompt shows, and another word.
var choices = []struct {
	shown, other string
	decision     client.DecisionType
}{
	{"y", "yes", client.Approve},
	{"n", "no", client.Reject},
	{"edit", "e", client.Edit},
	{"result", "result", client.Respond},
	{"reason", "r", client.Reject},
}

// answer asks for a decision. An empty line is the word empty; without one, it is asked again.
func (d *prompter) answer(ctx context.Context, a *client.ApprovalDetail, empty string) (client.Decision, error) {
	if a.Approval.Kind == client.KindQuestion {
		return d.question(ctx, &a.Approval)
	}
	for {
		answer, err := d.decision(ctx, a, empty)
		if err != nil || answer.Decision != client.Edit {
			return answer, err
		}
		problem := approvals.CheckArguments(a.Parameters, answer.Arguments)
		if problem == nil {
			return answer, nil
		}
		d.note("The arguments do not fit the tool: " + visible.Text(problem.Error()))
	}
}

// decision asks for a decision about a call. A call may always be rejected.
func (d *prompter) decision(ctx context.Context, a *client.ApprovalDetail, empty string) (client.Decision, error) {
	prompt := "Approve?"
	if a.Approval.Kind == client.KindOutcome {
		prompt = "Run it again?"
	}
	decisions := append(slices.Clone(a.Approval.Decisions), client.Reject)
	var offered []string
	for _, c := range choices {
		switch {
		case !slices.Contains(decisions, c.decision):
		case c.other == empty:
			offered = append(offered, strings.ToUpper(c.shown))
		default:
			offered = append(offered, c.shown)
		}
	}
	hint := "Write one of the words in brackets" + display.After("; an empty line is ", empty) + "."
	for {
		line, err := d.ask(ctx, prompt+" ["+strings.Join(offered, "/")+"]")
		if err != nil {
			return client.Decision{}, err
		}
		word := cmp.Or(strings.ToLower(line), empty)
		for _, c := range choices {
			if (word == c.shown || word == c.other) && slices.Contains(decisions, c.decision) {
				return d.complete(ctx, a, c.shown, c.decision)
			}
		}
		d.note(hint)
	}
}

// complete asks for the other fields of a decision.
func (d *prompter) complete(ctx context.Context, a *client.ApprovalDetail, word string, decision client.DecisionType) (client.Decision, error) {
	answer := client.Decision{Decision: decision}
	var err error
	switch word {
	case "edit":
		answer.Arguments, err = d.read(ctx, approvals.EditPrompt, func(line string) (json.RawMessage, error) {
			return approvals.EditArguments(a.Parameters, a.Approval.Arguments, line)
		})
	case "result":
		answer.Response, err = d.read(ctx, "Its result, as JSON on one line:", jsonAnswer)
	case "reason":
		answer.Reason, err = d.ask(ctx, "Why not?")
	}
	return answer, err
}

// read asks for a line until parse accepts it. The error of parse is a note for the person.
func (d *prompter) read(ctx context.Context, prompt string, parse func(string) (json.RawMessage, error)) (json.RawMessage, error) {
	for {
		line, err := d.ask(ctx, prompt)
		if err != nil {
			return nil, err
		}
		parsed, problem := parse(line)
		if problem == nil {
			return parsed, nil
		}
		d.note(visible.Text(problem.Error()))
	}
}
