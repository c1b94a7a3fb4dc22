package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/internal/visible"
)

const sendHelp = `The artifacts of the task are printed as they come, what else it says is on stderr. If the
task waits for an approval or an answer, you are asked on the terminal. A connection that
is lost is made again, and nothing is left out. Ctrl-C leaves the task running.
`

// sendFlags say where a message goes.
type sendFlags struct{ task, context string }

func (f *sendFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.task, "task", "", "Send to the task with this `id`, which waits for a message.")
	c.Flags().StringVar(&f.context, "of-context", "", "Send to the A2A context with this `id`.")
}

func (p *program) sendCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "send TEXT", Short: "send a message to an agent, and follow its task", Long: sendHelp + `
Exit codes of this command: 0 the task has completed, 1 it has ended otherwise, 3 it waits
for somebody and there is no terminal to ask on.
`,
	}
	takes(c, `, such as 'a2a-server send "/echo hello"'`, "one text")
	t := targetFlags(c)
	t.a2a = true
	var given sendFlags
	given.add(c)
	p.asks(c, t, func(ctx context.Context, s *server, args []string) error {
		talk, err := p.newTalk(ctx, s, given)
		if err != nil {
			return err
		}
		if err := talk.say(ctx, args[0]); err != nil {
			return err
		}
		err = talk.follow(ctx)
		if errors.Is(err, errWaits) {
			return &refusedError{fmt.Sprintf("the task %s waits for a message: 'a2a-server send --task %s TEXT' answers it", talk.task, short(talk.task))}
		}
		return err
	})
	return c
}

func (p *program) chatCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "chat", Short: "talk to an agent, a message on each line", Long: sendHelp + `
All messages are in one A2A context. An empty line is no message; Ctrl-D ends the chat.
With --task it continues a task. Without a terminal, each line of the standard input is
a message.
`,
	}
	t := targetFlags(c)
	t.a2a = true
	var given sendFlags
	given.add(c)
	p.asks(c, t, func(ctx context.Context, s *server, _ []string) error {
		talk, err := p.newTalk(ctx, s, given)
		if err != nil {
			return err
		}
		return talk.chat(ctx)
	})
	return c
}

func (p *program) tasksWatch() *cobra.Command {
	c := &cobra.Command{Use: "watch ID", Short: "print what a task has done, and what it does until it ends"}
	oneArgument(c, "task")
	as := outputFlag(c)
	t := targetFlags(c)
	p.asks(c, t, func(ctx context.Context, s *server, args []string) error {
		id, err := s.taskID(ctx, args[0])
		if err != nil {
			return err
		}
		if *as == "json" {
			for e, err := range s.TaskEvents(ctx, id, "") {
				if err != nil {
					return s.interrupted(ctx, err)
				}
				if _, err := fmt.Fprintf(p.stdout, "%s\n", e.Data); err != nil {
					return err
				}
			}
			return nil
		}
		talk := &talk{p: p, s: s, task: id, watches: true, desk: p.newDesk("")}
		return talk.follow(ctx)
	})
	return c
}

// interrupted returns nil for an error that the person has caused by ending the command.
func (s *server) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it is the wish of the person
	}
	return s.explain(err)
}

// talk is a conversation with an agent.
type talk struct {
	p       *program
	s       *server
	desk    *desk
	task    string // "": the next message makes one
	context string
	last    string // id of the last event of the task that was read
	watches bool   // nobody is asked
}

func (p *program) newDesk(name string) *desk {
	return &desk{keyboard: keyboard{from: p.stdin}, stdout: p.stdout, stderr: p.stderr, tool: name, shown: terminal(p.stdout), person: p.person()}
}

// newTalk returns a conversation that continues where the flags say.
func (p *program) newTalk(ctx context.Context, s *server, given sendFlags) (*talk, error) {
	t := &talk{p: p, s: s, context: given.context, desk: p.newDesk("the task")}
	if given.task == "" {
		return t, nil
	}
	d, err := s.task(ctx, given.task)
	if err != nil {
		return nil, err
	}
	t.task, t.context = d.Task.ID, d.Task.Context
	if err := t.skip(ctx, d); err != nil {
		return nil, err
	}
	return t, nil
}

// skip reads the events of the task up to its present status.
func (t *talk) skip(ctx context.Context, d *client.TaskDetail) error {
	var now struct {
		Status struct{ State, Timestamp string }
	}
	if err := json.Unmarshal(d.A2A, &now); err != nil {
		return fmt.Errorf("the task cannot be read: %w", err)
	}
	before := ""
	for e, err := range t.s.TaskEvents(ctx, t.task, "") {
		if err != nil {
			return t.s.explain(err)
		}
		u := updateOf(e.Data)
		if u != nil && u.Status.State == now.Status.State && u.Status.Timestamp == now.Status.Timestamp {
			if waits(u.Status.State) {
				t.last = before // its question is asked again
			} else {
				t.last = e.ID
			}
			return nil
		}
		before = e.ID
	}
	return nil
}

// message is a message of A2A 1.0.
type message struct {
	ID      string     `json:"messageId"`
	Role    string     `json:"role"`
	Task    string     `json:"taskId,omitempty"`
	Context string     `json:"contextId,omitempty"`
	Parts   []textPart `json:"parts"`
}

type textPart struct {
	Text string `json:"text"`
}

// say sends a text. It returns once the server has it.
func (t *talk) say(ctx context.Context, text string) error {
	if !utf8.ValidString(text) {
		return usage("send: the text is not valid UTF-8")
	}
	m := message{ID: uuid.NewString(), Role: "ROLE_USER", Task: t.task, Context: t.context, Parts: []textPart{{text}}}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"message": m, "configuration": map[string]any{"returnImmediately": true}}); err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	answer, err := t.s.post(ctx, "/message:send", b.Bytes())
	if err != nil {
		return err
	}
	var out struct {
		Task    *struct{ ID, ContextID string }
		Message *struct{ Parts []part }
	}
	if err := json.Unmarshal(answer, &out); err != nil || out.Task == nil && out.Message == nil {
		return t.s.changed(&client.OutcomeError{Cause: client.ErrForeign}, "the message has made a task", "a2a-server tasks list")
	}
	if out.Message != nil {
		for _, one := range out.Message.Parts {
			if err := t.desk.part(one, false); err != nil {
				return err
			}
		}
		t.desk.end()
		return nil
	}
	if t.task != out.Task.ID {
		t.last = ""
	}
	t.task, t.context = out.Task.ID, out.Task.ContextID
	return nil
}

// post sends a message to the A2A server. What was sent and not answered is not sent again.
func (s *server) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	sent := false
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	r, err := http.NewRequestWithContext(traced, http.MethodPost, strings.TrimRight(s.at.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, usage("%s is not the URL of a server", visible.Quote(s.at.URL, 200))
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	if s.at.Credential != nil {
		field, value, err := s.at.Credential(ctx)
		if err != nil {
			return nil, s.explain(err)
		}
		r.Header.Set(field, value)
	}
	web := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	const what, look = "the message was received", "a2a-server tasks list"
	response, err := web.Do(r)
	if err != nil && sent {
		return nil, s.changed(&client.OutcomeError{Cause: err}, what, look)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return nil, s.changed(&client.OutcomeError{Cause: err}, what, look)
	}
	if response.StatusCode == http.StatusOK {
		return answer, nil
	}
	var refused struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(answer, &refused) != nil || refused.Error.Message == "" {
		refused.Error.Message = response.Status
	}
	text := visible.ClipText(refused.Error.Message, 2000)
	if response.StatusCode == http.StatusUnauthorized && s.at.Credential == nil {
		text += "\nSet " + tokenVariable + " to a bearer token or an API key, or add one to a context"
	}
	return nil, errors.New(text)
}
