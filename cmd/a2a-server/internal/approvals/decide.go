package approvals

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

// decisionFlags are the flags of a decision, apart from its type.
type decisionFlags struct {
	args, argsFile, reason, digest, grant string
	pairs                                 []string // arguments to change, name=value
	uses                                  int
	sure, noWait                          bool
	command                               *cobra.Command // with these flags
}

const decideHelp = `It shows what is decided, and asks on the terminal. The decision is about what was shown:
if that has changed by then, nothing is decided. Without a terminal, --yes and --digest
decide what was shown before, such as by 'approvals show'.
`

const severalHelp = `
With several ids it asks about each in turn (-o json: an object for each), and exits with
the first code that is not 0.
`

const editHelp = `
Each name=value replaces an argument, and the others stay. Without arguments it asks for
them on the terminal.
`

const runHelp = `
Then it waits for the call, at most a minute, and prints the answer of the tool; --no-wait
does not. It does not wait while votes are missing.
`

// decisionWords are how each type of decision is written.
var decisionWords = map[client.DecisionType]struct{ about, question, past, example string }{
	client.Approve: {"let a call run with the arguments that are shown", "Approve this", "approved", "ID"},
	client.Edit:    {"let a call run with other arguments", `Approve this with the arguments after "runs with"`, "approved with other arguments", "ID amount=1"},
	client.Reject:  {"reject a call, so that it does not run", "Reject this", "rejected", "ID --reason 'too much'"},
}

func decideCommand(p *cli.Program, of client.DecisionType) *cobra.Command {
	about, arguments := decideHelp, " ID..."
	if of == client.Edit {
		about, arguments = about+editHelp, " ID [name=value]..."
	} else {
		about += severalHelp
	}
	if of != client.Reject {
		about += runHelp
	}
	c := remote.NewCommand(p, &cobra.Command{Use: string(of) + arguments, Short: decisionWords[of].about, Long: about, Example: "a2a-server approvals " + string(of) + " " + decisionWords[of].example}, "approval", true /* prints */)
	c.Exits(cli.ExitConflict)
	c.Args = func(c *cobra.Command, args []string) error { return checkIDs(c, of, args) }
	given := decisionFlags{command: c.Command}
	switch of {
	case client.Edit:
		c.Annotations = map[string]string{cli.TakesPairs: "yes"}
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
		ids := args
		if of == client.Edit {
			ids, given.pairs = args[:1], args[1:]
		}
		switch {
		case given.sure && given.digest == "":
			return cli.Usage("approvals %s: --yes needs --digest, which identifies the approval as you saw it: '%s' prints it", of, s.Command("approvals", "show", args[0]))
		case given.digest != "" && len(ids) > 1:
			return cli.Usage("approvals %s: --digest identifies one approval: run the command once for each id", of)
		}
		decision, err := given.decision(p, of)
		if err != nil {
			return err
		}
		return inTurn(ctx, p, s, ids, func(id string) error {
			decided, err := given.decide(ctx, p, s, id, decision)
			if err != nil {
				return err
			}
			return printDecided(ctx, p, s, *c.As, decidedText(s.Command("approvals", "list"), id, of, decided)+"\n", decided, of != client.Reject && !given.noWait)
		})
	})
}

// checkIDs returns an error unless args are the ids of approvals or, for an edit, an id and name=value pairs.
func checkIDs(c *cobra.Command, of client.DecisionType, args []string) error {
	if len(args) == 0 || slices.Contains(args, "") {
		return cli.Usage("%s takes the id of an approval; '%s' has them", cli.Within(c), cli.Again(c, "approvals", "list"))
	}
	for i, arg := range args[1:] {
		switch {
		case of == client.Edit && strings.Index(arg, "=") < 1:
			return cli.Usage("%s is not name=value: write the argument to change, such as amount=1", visible.Quote(arg, 80))
		case of == client.Reject && strings.Trim(arg, "0123456789abcdefABCDEF-.") != "":
			return cli.Usage("%s is not the id of an approval; a reason is written with --reason: '%s'", visible.Quote(arg, 80),
				cli.Again(c, append(append([]string{"approvals", "reject"}, args[:1+i]...), "--reason", strings.Join(args[1+i:], " "))...))
		}
	}
	return nil
}

// inTurn calls decide for each approval. With several ids, all of which must exist, it prints the errors and returns the
// exit code of the first.
func inTurn(ctx context.Context, p *cli.Program, s *remote.Server, ids []string, decide func(id string) error) error {
	if len(ids) == 1 {
		return decide(ids[0])
	}
	var err error
	for i := range ids {
		if ids[i], err = s.ApprovalID(ctx, ids[i]); err != nil {
			return err
		}
	}
	code, failed := cli.ExitOK, 0
	for i, id := range ids {
		if i > 0 {
			p.Note("")
		}
		if err := decide(id); err != nil {
			p.Note(visible.Text(err.Error()))
			code, failed = cmp.Or(code, cli.CodeOf(err)), failed+1
		}
		if rest := ids[i+1:]; ctx.Err() != nil && len(rest) > 0 {
			p.Note("interrupted, and not asked about: " + visible.Line(strings.Join(rest, " ")))
			return cli.Exit(cmp.Or(code, cli.ExitRefused), "the command was interrupted")
		}
	}
	if failed == 0 {
		return nil
	}
	return cli.Exit(code, fmt.Sprintf("%d of %d approvals were not decided, or their calls have not succeeded", failed, len(ids)))
}

// decision returns the decision that the flags describe, without the arguments that depend on the approval.
func (f *decisionFlags) decision(p *cli.Program, of client.DecisionType) (client.Decision, error) {
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
	case f.ways() > 1, f.ways() == 0 && (f.sure || !p.Person()):
		return d, cli.Usage("approvals edit: write name=value for each argument to change, or all arguments with --args or --args-file")
	case f.args == "" && f.argsFile == "":
		return d, nil
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

// ways returns in how many ways the command line has arguments.
func (f *decisionFlags) ways() int {
	return cli.Count(len(f.pairs) > 0, f.args != "", f.argsFile != "")
}

// again returns the words of a command that decides about an approval as it was shown, without a terminal.
func (f *decisionFlags) again(of client.DecisionType, a *client.Approval) []string {
	words := append([]string{"approvals", string(of), a.ID}, f.pairs...)
	return append(append(words, "--yes", "--digest", a.Digest), cli.Given(f.command, "args", "args-file", "reason", "grant", "uses", "no-wait")...)
}

// decide shows an approval, asks the person unless they are sure, and decides it.
func (f *decisionFlags) decide(ctx context.Context, p *cli.Program, s *remote.Server, id string, d client.Decision) (*client.Decided, error) {
	shown, err := s.FindApproval(ctx, id)
	if err != nil {
		return nil, err
	}
	a, settled := &shown.Approval, func(a *client.Approval) (*client.Decided, error) {
		if same(a, &d) {
			return &client.Decided{Approval: a, Already: true, Caller: shown.Caller}, nil
		}
		return nil, cli.Exit(cli.ExitConflict, ConflictText(a, time.Now()))
	}
	if len(f.pairs) > 0 {
		if d.Arguments, err = EditArguments(shown.Parameters, a.Arguments, cli.PairText(f.pairs)); err != nil {
			return nil, cli.Usage("approvals edit: %v", err)
		}
	}
	switch {
	case a.State != client.Pending:
		return settled(a)
	case d.Digest != "" && d.Digest != a.Digest:
		return nil, errors.New("nothing was decided: the digest is not that of the approval, which is " + a.Digest)
	case !shown.May.Decide:
		return nil, errors.New("nothing was decided: " + visible.Text(shown.May.WhyNot))
	}
	facts := display.Facts{Columns: terminal.Columns(p.Stderr)}
	text := Text(shown, facts.Columns, time.Now())
	switch {
	case d.Decision != client.Edit: // the arguments stay
	case d.Arguments == nil:
		if d.Arguments, err = askArguments(ctx, p, text, shown); err != nil {
			return nil, err
		}
		text = ""
	default:
		if err := CheckArguments(shown.Parameters, d.Arguments); err != nil {
			err = fmt.Errorf("nothing was decided: the arguments do not fit the tool: %w", err)
			if len(f.pairs) == 0 {
				err = fmt.Errorf("%w\nThe object replaces all arguments. To change some: '%s'", err, s.Command("approvals", "edit", a.ID, "name=value"))
			}
			return nil, err
		}
	}
	if !f.sure {
		facts.Add("runs with", visible.Line(string(d.Arguments)))
		facts.Add("reason", d.Reason)
		facts.Add("grants", grantText(a, d.Grant))
		text += facts.String()
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
			return settled(e.Approval)
		case e.Reason == client.ReasonConflict:
			return nil, cli.Exit(cli.ExitConflict, visible.Text(e.Error()))
		}
	}
	if err != nil {
		return nil, s.Changed(err, visible.Line(a.ID)+" was decided", "approvals", "show", a.ID)
	}
	return &decided, nil
}

// EditPrompt asks for the arguments of an edit, which [EditArguments] reads.
const EditPrompt = "Arguments to change, as name=value, or all as a JSON object, on one line:"

// EditArguments returns arguments as a line changes them, see [direct.Edit]. The schema parameters may be nil.
func EditArguments(parameters, arguments json.RawMessage, line string) (json.RawMessage, error) {
	var schema map[string]any
	_ = json.Unmarshal(parameters, &schema) // the server checks the arguments again
	return direct.Edit(arguments, schema, line)
}

// askArguments shows an approval, and asks the person for other arguments until they fit the tool.
func askArguments(ctx context.Context, p *cli.Program, text string, d *client.ApprovalDetail) (json.RawMessage, error) {
	p.Note(strings.TrimSuffix(text, "\n"))
	k := &terminal.Keyboard{From: p.Stdin, To: p.Stderr}
	for {
		line, err := cli.Ask(ctx, k, EditPrompt)
		if err != nil {
			return nil, err
		}
		arguments, problem := EditArguments(d.Parameters, d.Approval.Arguments, line)
		if problem == nil {
			problem = CheckArguments(d.Parameters, arguments)
		}
		if problem == nil {
			return arguments, nil
		}
		p.Note("The arguments do not fit the tool: " + visible.Text(problem.Error()))
	}
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
