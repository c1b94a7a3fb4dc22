package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

const sendHelp = `The artifacts of the task are printed as they come, what else it says is on stderr. If the
task waits for an approval or an answer, you are asked on the terminal, except with -o json.
A connection that is lost is made again, and nothing is left out. Ctrl-C leaves the task
running. In a terminal with colors, the state of the task and of its calls stays on the last
lines of the screen.
`

// sendFlags set the destination of a message, and the output format of its task.
type sendFlags struct{ task, context, output string }

func (f *sendFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.output, "output", "o", "", "How to print it: `rich, text or json`, whose lines are events of A2A. Default: rich in a terminal, unless NO_COLOR is set or TERM is dumb; else text.")
	c.Flags().StringVar(&f.task, "task", "", "Send to the task with this `id`, which waits for a message.")
	c.Flags().StringVar(&f.context, "of-context", "", "Send to the A2A context with this `id`.")
}

func sendCommand(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "send TEXT", Short: "send a message to an agent, and follow its task", Long: sendHelp + "While only others may decide, it waits.\n",
		Example: "a2a-server send '/echo hello'",
	}, "", false /* prints */)
	c.SendsMessages()
	c.Exits(cli.ExitTimeout, cli.ExitNoTask)
	cli.Takes(c.Command, `, such as 'a2a-server send "/echo hello"'`, "one text")
	var given sendFlags
	given.add(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		talk, err := newTalk(ctx, p, s, given)
		if err != nil {
			return err
		}
		if err := talk.say(ctx, args[0]); err != nil {
			return err
		}
		if talk.task == "" {
			next := ""
			if talk.named != "" && !strings.HasPrefix(strings.TrimSpace(args[0]), "/") {
				next = fmt.Sprintf("\nPlain words call no tool there. Write a slash, the name of a tool, and its arguments as key=value:\n%s", s.Command("send", "/"+talk.named+" …"))
			}
			return cli.Exit(cli.ExitNoTask, "the agent answered without a task: no tool ran"+next)
		}
		err = talk.follow(ctx)
		if errors.Is(err, errWaits) {
			return cli.Exit(cli.ExitRefused, fmt.Sprintf("the task %s waits for a message: '%s' answers it", talk.task, s.Command("send", "--task", remote.ShortID(talk.task), "TEXT")))
		}
		return err
	})
}

func chatCommand(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "chat", Short: "talk to an agent, a message on each line", Long: sendHelp + `
All messages are in one A2A context. An empty line is no message; Ctrl-D ends the chat.
With --task it continues a task. Without a terminal, each line of the standard input is
a message.
`,
	}, "", false /* prints */)
	c.SendsMessages()
	c.Exits(cli.ExitTimeout)
	var given sendFlags
	given.add(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) error {
		talk, err := newTalk(ctx, p, s, given)
		if err != nil {
			return err
		}
		return talk.chat(ctx)
	})
}

func tasksWatch(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "watch ID", Short: "print the events of a task until it ends"}, "task", true /* prints */)
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		id, err := s.TaskID(ctx, args[0])
		if err != nil {
			return err
		}
		if *c.As == "json" {
			for e, err := range s.TaskEvents(ctx, id, "") {
				if err != nil {
					return s.Interrupted(ctx, err)
				}
				if err := p.Printf("%s\n", visible.Line(string(e.Data))); err != nil { // escaped as in JSON
					return err
				}
			}
			return nil
		}
		talk := &talk{p: p, s: s, task: id, watches: true, prompter: newPrompter(p)}
		return talk.follow(ctx)
	})
}

// talk is a conversation with an agent.
type talk struct {
	p        *cli.Program
	s        *remote.Server
	prompter *prompter
	task     string // "": the next message creates a task
	context  string
	last     string // id of the last event of the task that was read
	watches  bool   // it asks no questions
	named    string // a tool that the answer without a task lists
	empty    string // the word that an empty line is for a decision; "": a decision has to be written

	call    *toolCall // of 'tools call'; nil: a conversation
	state   string    // of the task, as the newest event has it
	unknown bool      // the call may have run or not
}

// talkPrompter returns the prompter of a conversation, which prints in a form of --output.
func talkPrompter(p *cli.Program, form string) (*prompter, error) {
	term := p.Variable("TERM")
	if form == "" && terminal.Is(p.Stdout) && terminal.Is(p.Stderr) && term != "" && term != "dumb" && p.Variable("NO_COLOR") == "" {
		form = "rich"
	}
	var b *board
	switch form {
	case "", "text", "json":
	case "rich":
		b = &board{to: p.Stderr}
		p.Stdout, p.Stderr = aboveBoard{p.Stdout, b}, aboveBoard{p.Stderr, b}
	default:
		return nil, cli.Usage("--output is %s, which is no form of output; write rich, text or json", visible.Quote(form, 80))
	}
	d := newPrompter(p)
	p.Notes, d.board, d.raw = d.note, b, form == "json"
	d.person, d.stdout.escapes = d.person && !d.raw, d.stdout.escapes || b != nil
	return d, nil
}

func newPrompter(p *cli.Program) *prompter {
	return &prompter{
		keyboard: terminal.Keyboard{From: p.Stdin, To: p.Stderr}, person: p.Person(),
		stdout: stream{Writer: p.Stdout, escapes: terminal.Is(p.Stdout)}, stderr: stream{Writer: p.Stderr, escapes: true},
	}
}

// newTalk returns a conversation that continues where the flags say.
func newTalk(ctx context.Context, p *cli.Program, s *remote.Server, given sendFlags) (*talk, error) {
	d, err := talkPrompter(p, given.output)
	if err != nil {
		return nil, err
	}
	t := &talk{p: p, s: s, context: given.context, prompter: d}
	if given.task == "" {
		return t, nil
	}
	of, err := s.FindTask(ctx, given.task)
	if err != nil {
		return nil, err
	}
	t.task, t.context = of.Task.ID, of.Task.Context
	t.prompter.state(of.Task.State)
	if err := t.skip(ctx, of); err != nil {
		return nil, err
	}
	return t, nil
}

// skip reads the events of the task up to its present status.
func (t *talk) skip(ctx context.Context, d *client.TaskDetail) error {
	var now update
	if err := json.Unmarshal(d.A2A, &now); err != nil {
		return fmt.Errorf("the task cannot be read: %w", err)
	}
	before := ""
	for e, err := range t.s.TaskEvents(ctx, t.task, "") {
		if err != nil {
			return t.s.Explain(err)
		}
		_, u, _ := readEvent(e.Data) // an event that cannot be read is not the status
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

// firstTool returns the first tool in the list with which the planner direct answers; "": there is no list.
func firstTool(parts []part) string {
	for _, p := range parts {
		var list struct{ Tools []struct{ Name string } }
		if json.Unmarshal(p.Data, &list) == nil && len(list.Tools) > 0 {
			return list.Tools[0].Name
		}
	}
	return ""
}

// say sends a text. It returns once the server has it.
func (t *talk) say(ctx context.Context, text string) error {
	if !utf8.ValidString(text) {
		return cli.Usage("send: the text is not valid UTF-8")
	}
	m := map[string]any{"messageId": uuid.NewString(), "role": "ROLE_USER", "parts": []any{map[string]string{"text": text}}}
	for name, id := range map[string]string{"taskId": t.task, "contextId": t.context} {
		if id != "" {
			m[name] = id
		}
	}
	if t.call != nil {
		m["metadata"] = map[string]any{approval.RemarkKey: true} // approvals are decided by their own question
	}
	answer, err := t.s.SendMessage(ctx, map[string]any{"message": m, "configuration": map[string]any{"returnImmediately": true}})
	if err != nil {
		return t.s.Changed(err, "the message was received", "tasks", "list")
	}
	var out struct {
		Task    *struct{ ID, ContextID string }
		Message *struct{ Parts []part }
	}
	if err := json.Unmarshal(answer, &out); err != nil || out.Task == nil && out.Message == nil {
		return t.s.Changed(&client.OutcomeError{Cause: client.ErrForeign}, "the message has made a task", "tasks", "list")
	}
	if out.Message == nil {
		if t.task != out.Task.ID {
			t.last = ""
			t.prompter.state("")
		}
		t.task, t.context = out.Task.ID, out.Task.ContextID
		return nil
	}
	parts := out.Message.Parts
	t.named = firstTool(parts)
	switch {
	case t.call != nil:
		t.call.answer = textOf(parts)
		return nil
	case t.prompter.raw:
		_, err := t.prompter.show(answer)
		return err
	}
	texts := slices.ContainsFunc(parts, func(p part) bool { return p.Text != nil })
	for _, one := range parts {
		if !texts || one.Data == nil { // else it is for programs
			t.prompter.part(one, false)
		}
	}
	t.prompter.end()
	return t.prompter.broken()
}
