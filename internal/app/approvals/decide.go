package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/internal/app/cli"
	"a2a-server/internal/app/display"
	"a2a-server/internal/app/remote"
	"a2a-server/internal/app/terminal"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// decisionFlags are the flags of a decision, apart from its type.
type decisionFlags struct {
	args, argsFile, reason, digest, grant string
	uses                                  int
	sure, noWait                          bool
}

const decideHelp = `It shows what is decided, and asks on the terminal. The decision is about what was shown:
if that has changed by then, nothing is decided. Without a terminal, --yes and --digest
decide what was shown before, such as by 'approvals show'.
`

const runHelp = `
Then it waits for the call, at most a minute, and prints the answer of the tool; --no-wait
does not. It does not wait while votes are missing.
`

// decisionWords are how each type of decision is written.
var decisionWords = map[client.DecisionType]struct{ about, question, past, example string }{
	client.Approve: {"let a call run with the arguments that are shown", "Approve this", "approved", "ID"},
	client.Edit:    {"let a call run with other arguments", `Approve this with the arguments after "runs with"`, "approved with other arguments", `ID --args '{"amount":1,"to":"bob"}'`},
	client.Reject:  {"reject a call, so that it does not run", "Reject this", "rejected", "ID --reason 'too much'"},
}

func decideCommand(p *cli.Program, of client.DecisionType) *cobra.Command {
	about := decideHelp
	if of != client.Reject {
		about += runHelp
	}
	c := remote.NewCommand(p, &cobra.Command{Use: string(of) + " ID", Short: decisionWords[of].about, Long: about, Example: "a2a-server approvals " + string(of) + " " + decisionWords[of].example}, "approval", true /* prints */)
	c.Exits(cli.ExitConflict)
	var given decisionFlags
	switch of {
	case client.Edit:
		c.Flags().StringVar(&given.args, "args", "", "All arguments, as a JSON `object`.")
		c.Flags().StringVar(&given.argsFile, "args-file", "", "The `file` that has them instead.")
	case client.Reject:
		c.Flags().StringVar(&given.reason, "reason", "", "Why: a `text` for the requester.")
	case client.Approve:
		c.Flags().StringVar(&given.grant, "grant", "", "Let later equal calls start, too, a `scope`: task, context, a time such as 1h, or ask_once, for exactly this call in the context. Default: this call only.")
		c.Flags().IntVar(&given.uses, "uses", 0, "With --grant: at most this `number` of them.")
	case client.Respond, client.Cancel:
	}
	if of != client.Reject {
		c.Exits(cli.ExitTimeout, cli.ExitCall)
		c.Flags().BoolVar(&given.noWait, "no-wait", false, "Do not wait for the call.")
	}
	c.Flags().BoolVar(&given.sure, "yes", false, "Do not ask on the terminal. It needs --digest.")
	c.Flags().StringVar(&given.digest, "digest", "", "The `digest` that the approval must have.")
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		if given.sure && given.digest == "" {
			return cli.Usage("approvals %s: --yes needs --digest, which identifies the approval as you saw it: '%s' prints it", of, s.Command("approvals", "show", args[0]))
		}
		decision, err := given.decision(of)
		if err != nil {
			return err
		}
		decided, err := given.decide(ctx, p, s, args[0], decision)
		if err != nil {
			return err
		}
		return printDecided(ctx, p, s, *c.As, decidedText(s.Command("approvals", "list"), args[0], of, decided)+"\n", decided, of != client.Reject && !given.noWait)
	})
}

// decision returns the decision that the flags describe.
func (f *decisionFlags) decision(of client.DecisionType) (client.Decision, error) {
	d := client.Decision{Decision: of, Reason: f.reason, Digest: f.digest}
	switch {
	case !utf8.ValidString(f.reason):
		return d, cli.Usage("approvals %s: the reason is not valid UTF-8", of)
	case of != client.Edit:
		var err error
		d.Grant, err = f.grantRequest()
		return d, err
	}
	var from io.Reader
	switch {
	case (f.args == "") == (f.argsFile == ""):
		return d, cli.Usage("approvals edit: write the arguments with --args or --args-file")
	case f.argsFile != "":
		file, err := os.Open(f.argsFile)
		if err != nil {
			return d, fmt.Errorf("open the file of arguments: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		from = file
	}
	text, err := cli.ReadObject("approvals edit", f.args, from, approval.MaxJSON)
	if err != nil {
		return d, err
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, []byte(text))
	d.Arguments = compact.Bytes()
	return d, err
}

// again returns the words of a command that decides about an approval as it was shown, without a terminal.
func (f *decisionFlags) again(of client.DecisionType, a *client.Approval) []string {
	words := []string{"approvals", string(of), a.ID, "--yes", "--digest", a.Digest}
	for _, flag := range []struct{ name, value string }{
		{"--args", f.args}, {"--args-file", f.argsFile}, {"--reason", f.reason}, {"--grant", f.grant},
	} {
		if flag.value != "" {
			words = append(words, flag.name, flag.value)
		}
	}
	if f.uses != 0 {
		words = append(words, "--uses", strconv.Itoa(f.uses))
	}
	if f.noWait {
		words = append(words, "--no-wait")
	}
	return words
}

// decide shows an approval, asks the person unless they are sure, and decides it.
func (f *decisionFlags) decide(ctx context.Context, p *cli.Program, s *remote.Server, id string, d client.Decision) (*client.Decided, error) {
	shown, err := s.FindApproval(ctx, id)
	if err != nil {
		return nil, err
	}
	a, settled := &shown.Approval, func(a *client.Approval, already bool) (*client.Decided, error) {
		if already {
			return &client.Decided{Approval: a, Already: true, Caller: shown.Caller}, nil
		}
		return nil, cli.Exit(cli.ExitConflict, ConflictText(a, time.Now()))
	}
	switch {
	case a.State != client.Pending:
		return settled(a, same(a, &d))
	case d.Digest != "" && d.Digest != a.Digest:
		return nil, errors.New("nothing was decided: the digest is not that of the approval, which is " + a.Digest)
	case !shown.May.Decide:
		return nil, errors.New("nothing was decided: " + visible.Text(shown.May.WhyNot))
	}
	if d.Decision == client.Edit {
		if err := CheckArguments(shown.Parameters, d.Arguments); err != nil {
			return nil, fmt.Errorf("nothing was decided: the arguments do not fit the tool: %w", err)
		}
	}
	if !f.sure {
		facts := display.Facts{Columns: terminal.Columns(p.Stderr)}
		facts.Add("runs with", visible.Line(string(d.Arguments)))
		facts.Add("reason", d.Reason)
		facts.Add("grants", grantText(a, d.Grant))
		text := Text(shown, facts.Columns, time.Now()) + facts.String()
		if !p.Person() {
			p.Note(strings.TrimSuffix(text, "\n"))
			return nil, cli.Exit(cli.ExitRefused, "nothing was decided: there is no terminal to ask on. To decide it as shown:\n"+s.Command(f.again(d.Decision, a)...))
		}
		question := decisionWords[d.Decision].question
		if a.Kind == client.KindOutcome && d.Decision == client.Approve {
			question = "Run this again"
		}
		if err := p.Confirm(ctx, text, question, shown.Caller.Subject); err != nil {
			return nil, err
		}
	}
	d.Digest = a.Digest
	decided, err := s.Decide(ctx, a.ID, d)
	if e, is := errors.AsType[*client.Error](err); is {
		switch {
		case e.Reason == client.ReasonChanged:
			return nil, fmt.Errorf("nothing was decided, because the approval has changed: run the command again to see it\n%s", visible.Text(e.Error()))
		case e.Reason == client.ReasonConflict && e.Approval != nil:
			return settled(e.Approval, same(e.Approval, &d))
		case e.Reason == client.ReasonConflict:
			return nil, cli.Exit(cli.ExitConflict, visible.Text(e.Error()))
		}
	}
	if err != nil {
		return nil, s.Changed(err, visible.Line(a.ID)+" was decided", "approvals", "show", a.ID)
	}
	return &decided, nil
}

// same reports whether an approval was settled by just the decision d.
func same(a *client.Approval, d *client.Decision) bool {
	r := a.Resolution
	if r == nil || r.Decision != d.Decision {
		return false
	}
	var was bytes.Buffer
	if (d.Grant != nil) != (r.Grant != "") {
		return false
	}
	return d.Decision != client.Edit || json.Compact(&was, r.Arguments) == nil && bytes.Equal(was.Bytes(), d.Arguments)
}

// ConflictText says how an approval has ended.
func ConflictText(a *client.Approval, now time.Time) string {
	return visible.Line(a.ID) + " was already " + EndText(a, now)
}

// EndText says in which state an approval has ended, by whom, when and why.
func EndText(a *client.Approval, now time.Time) string {
	text := visible.Line(string(a.State))
	if r := a.Resolution; r != nil {
		text += " by " + byText(r.By) + " " + display.Ago(r.At, now) + display.After(": ", visible.Line(r.Reason))
	}
	return text
}

// CheckArguments returns the fault in the arguments of an edit. A schema that cannot be
// compiled here is left to the server.
func CheckArguments(parameters, arguments json.RawMessage) error {
	var schema map[string]any
	var value any
	if json.Unmarshal(parameters, &schema) != nil || json.Unmarshal(arguments, &value) != nil {
		return nil //nolint:nilerr // likewise
	}
	compiled, err := tool.CompileSchema(schema)
	if err != nil {
		return nil //nolint:nilerr // the server decides
	}
	return compiled.Validate(value)
}

// decidedText describes a decision. It names the principal of an earlier decision. list is a command that lists approvals.
func decidedText(list, id string, of client.DecisionType, d *client.Decided) string {
	past := decisionWords[of].past
	if d.Approval != nil && d.Approval.State == client.Pending && d.Approval.Votes != nil {
		return fmt.Sprintf("%s waits for more votes: %s", visible.Line(d.Approval.ID), visible.Line(votesText(d.Approval.Votes)))
	}
	if d.Approval != nil && d.Approval.State == client.Superseded {
		return visible.Line(id) + " was edited, and the edited call waits for another approval: see '" + list + "'"
	}
	if d.Approval == nil || d.Approval.Resolution == nil {
		return visible.Line(id) + " was " + past
	}
	by := d.Approval.Resolution.By
	if d.Already {
		return fmt.Sprintf("%s had been %s by %s already", visible.Line(d.Approval.ID), past, byText(by))
	}
	return fmt.Sprintf("%s was %s by %s", visible.Line(d.Approval.ID), past, visible.Line(d.Caller.Subject))
}
