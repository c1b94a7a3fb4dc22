package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/visible"
)

func (p *program) approvalsCommand() *cobra.Command {
	c := &cobra.Command{Use: "approvals", Short: "list, show or decide what waits for approval in a running server"}
	c.AddCommand(p.approvalsList(), p.approvalsShow(), p.approvalsDecide(approval.Approve), p.approvalsDecide(approval.Edit), p.approvalsDecide(approval.Reject))
	return c
}

func (p *program) approvalsList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "list the approvals that are pending, the oldest first"}
	as := outputFlag(c)
	a := adminFlags(c)
	c.Flags().StringVar(&a.query.Task, "task", "", "The approvals of the task with this `id` instead, in any state.")
	limit := limitFlag(c)
	p.asks(c, a, func(ctx context.Context, client *adminsocket.Client, _ []string) (err error) {
		all := approvalsJSON{Approvals: []approval.Approval{}}
		all.More, err = pages(*limit, &a.query, func() (int, string, error) {
			page, err := client.Approvals(ctx, a.query)
			if err != nil {
				return 0, "", err
			}
			all.Approvals, all.Damaged = append(all.Approvals, page.Approvals...), all.Damaged+page.Damaged
			all.Revoked = append(all.Revoked, page.Revoked...)
			return len(page.Approvals) + page.Damaged, page.Next, nil
		})
		if err != nil {
			return err
		}
		if *as == "json" {
			return p.printJSON(all)
		}
		return p.printApprovals(&all, a.query.Task != "")
	})
	return c
}

// approvalsJSON is the output of 'approvals list -o json'.
type approvalsJSON struct {
	Approvals []approval.Approval `json:"approvals"`
	Revoked   []string            `json:"revoked,omitempty"` // ids of those whose requester's credential is no longer valid
	Damaged   int                 `json:"damaged,omitempty"` // how many cannot be read
	More      bool                `json:"more,omitempty"`    // not all are listed
}

func (p *program) printApprovals(all *approvalsJSON, states bool) error {
	lines := []string{"ID\tTOOL\tREQUESTER\tASKED\tEXPIRES\tRULE\tARGUMENTS"}
	if states {
		lines[0] = "ID\tSTATE\tTOOL\tREQUESTER\tASKED\tEXPIRES\tRULE\tARGUMENTS"
	}
	for i := range all.Approvals {
		a := &all.Approvals[i]
		requester := a.Requester.Subject
		if slices.Contains(all.Revoked, a.ID) {
			requester += " (revoked)"
		}
		row := []string{a.ID, a.Tool, requester, moment(a.Asked), deadline(a), a.Terms.Rule, visible.Clip(string(a.MaskedArgs()), 60)}
		if states {
			row = append([]string{a.ID, string(a.State)}, row[1:]...)
		}
		lines = append(lines, columns(row...))
	}
	switch {
	case len(all.Approvals) > 0:
		if err := p.table(lines); err != nil {
			return err
		}
	case all.Damaged == 0:
		nothing := "nothing waits for approval"
		if states {
			nothing = "the task has no approvals"
		}
		if _, err := fmt.Fprintln(p.stdout, nothing); err != nil {
			return err
		}
	}
	if all.Damaged > 0 {
		if _, err := fmt.Fprintf(p.stderr, "%d more cannot be read, because what is stored is damaged: the log of the server says which.\n", all.Damaged); err != nil {
			return err
		}
	}
	return p.noteMore(all.More)
}

func deadline(a *approval.Approval) string {
	if a.Deadline == nil {
		return ""
	}
	return moment(*a.Deadline)
}

func (p *program) approvalsShow() *cobra.Command {
	c := &cobra.Command{Use: "show ID", Short: "print one approval, whatever its state"}
	oneArgument(c, "approval")
	as := outputFlag(c)
	a := adminFlags(c)
	p.asks(c, a, func(ctx context.Context, client *adminsocket.Client, args []string) error {
		shown, err := client.Approval(ctx, args[0], a.query)
		if err != nil {
			return shownError(err)
		}
		if *as == "json" {
			return p.printJSON(struct {
				*approval.Approval
				Revoked bool `json:"requester_revoked,omitempty"`
			}{shown.Approval, shown.Revoked})
		}
		_, err = io.WriteString(p.stdout, approvalText(shown, columnsOf(p.stdout)))
		return err
	})
	return c
}

// approvalText returns everything about an approval that somebody who decides has to know, for
// a screen with so many columns.
func approvalText(shown *adminsocket.ShownApproval, columns int) string {
	a, f := shown.Approval, facts{columns: columns}
	f.add("approval", a.ID)
	f.add("state", string(a.State))
	f.add("asks", map[approval.Kind]string{
		approval.KindCall:     "whether this call may run",
		approval.KindOutcome:  "whether this call, which may have run or not, is run again",
		approval.KindQuestion: "a question of the tool; its answer is for the A2A client",
	}[a.Kind])
	f.add("tool", visible.Line(a.Tool))
	if about := a.About; about != nil {
		f.add("described", visible.Line(about.Description))
		f.add("declared", visible.Line(strings.Join(about.Declared, ", ")))
		f.add("claimed", unverified(about))
	}
	f.add("arguments", visible.Line(string(a.Args)))
	f.add("question", a.Hint)
	f.add("with", visible.Line(string(a.Payload)))
	if a.Terms.Destructive {
		f.add("effects", "it is destructive")
	}
	f.add("risk", string(a.Terms.Risk))
	f.add("rule", visible.Line(a.Terms.Rule))
	if a.Terms.FourEyes {
		f.add("four eyes", "the requester may not decide, nor those they act for, nor those who act for one of them")
	}
	if who := a.Terms.Approvers; who != nil {
		f.add("approvers", visible.Line(approversText(who)))
	}
	f.add("requester", principalText(a.Requester))
	if shown.Revoked {
		f.add("caution", "the credential of the requester is no longer valid: the key was removed or revoked, or has expired")
	}
	f.add("asked", moment(a.Asked))
	f.add("expires", deadline(a))
	f.add("task", a.Task)
	f.add("digest", a.Digest)
	f.add("replaces", a.Supersedes)
	if r := a.Resolution; r != nil {
		by := "the server"
		if !r.By.IsZero() {
			by = principalText(r.By)
		}
		f.add("decided", visible.Line(fmt.Sprintf("%s by %s at %s (%s)", a.State, by, moment(r.At), r.Via)))
		f.add("runs with", visible.Line(string(r.Args)))
		f.add("reason", r.Reason)
		f.add("response", visible.Line(string(r.Response)))
	}
	return f.String()
}

// unverified returns what is only claimed about a tool.
func unverified(about *approval.About) string {
	if len(about.Claimed) == 0 {
		return ""
	}
	return visible.Line(strings.Join(about.Claimed, ", ")) + " (not verified)"
}

// approversText returns whom the rules let decide.
func approversText(who *approval.Approvers) string {
	if len(who.All) > 0 {
		each := make([]string, len(who.All))
		for i := range who.All {
			each[i] = "one of (" + approversText(&who.All[i]) + ")"
		}
		return strings.Join(each, " who is also ")
	}
	var all []string
	for _, role := range who.Roles {
		all = append(all, "the role "+role)
	}
	return strings.Join(append(all, who.Subjects...), ", ")
}

// principalText returns who somebody is: the name, and what is known besides.
func principalText(p auth.Principal) string {
	text := visible.Line(p.Subject)
	if p.Person != "" && p.Person != p.Subject {
		text += ", who is " + visible.Line(p.Person)
	}
	if p.Kind != auth.KindPerson {
		text += ", a " + visible.Line(string(p.Kind))
	}
	if len(p.Chain) > 0 {
		text += ", through " + visible.Line(strings.Join(p.Chain, ", "))
	}
	if p.Tenant != "" {
		text += " in " + visible.Line(p.Tenant)
	}
	return text
}

// decisionFlags are what a decision has besides its verb.
type decisionFlags struct {
	args, argsFile, reason string
}

const decideHelp = `It shows what is decided, and asks on the terminal; without one it decides nothing. The
decision is about what was shown: if that has changed by then, nothing is decided.
`

func (p *program) approvalsDecide(verb approval.Verb) *cobra.Command {
	about := map[approval.Verb]string{
		approval.Approve: "let a call run with the arguments that are shown",
		approval.Edit:    "let a call run with other arguments",
		approval.Reject:  "reject a call, so that it does not run",
	}
	c := &cobra.Command{Use: string(verb) + " ID", Short: about[verb], Long: decideHelp}
	oneArgument(c, "approval")
	as := outputFlag(c)
	a := adminFlags(c)
	var given decisionFlags
	switch verb {
	case approval.Edit:
		c.Flags().StringVar(&given.args, "args", "", "All arguments, as a JSON `object`.")
		c.Flags().StringVar(&given.argsFile, "args-file", "", "The `file` that has them instead.")
	case approval.Reject:
		c.Flags().StringVar(&given.reason, "reason", "", "Why: a `text` for the requester.")
	case approval.Approve, approval.Respond, approval.Cancel:
	}
	p.asks(c, a, func(ctx context.Context, client *adminsocket.Client, args []string) error {
		decision, err := given.decision(verb)
		if err != nil {
			return err
		}
		if err := p.needsPerson(); err != nil {
			return err
		}
		decided, err := p.decide(ctx, client, args[0], a.query, decision)
		if err != nil {
			return err
		}
		if *as == "json" {
			return p.printJSON(decided.Approval)
		}
		_, err = fmt.Fprintln(p.stdout, decidedText(args[0], verb, decided))
		return err
	})
	return c
}

// decision returns what the flags say, without the digest.
func (f *decisionFlags) decision(verb approval.Verb) (adminsocket.Decision, error) {
	d := adminsocket.Decision{Verb: verb, Reason: f.reason}
	if !utf8.ValidString(f.reason) {
		return d, usage("approvals %s: the reason is not valid UTF-8", verb)
	}
	if verb != approval.Edit {
		return d, nil
	}
	text := []byte(f.args)
	switch {
	case (f.args == "") == (f.argsFile == ""):
		return d, usage("approvals edit: write the arguments with --args or --args-file")
	case f.argsFile != "":
		file, err := os.Open(f.argsFile)
		if err != nil {
			return d, fmt.Errorf("open the file of arguments: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		if text, err = io.ReadAll(io.LimitReader(file, approval.MaxJSON+1)); err != nil {
			return d, fmt.Errorf("read the file of arguments: %w", err)
		}
	}
	var compact bytes.Buffer
	if !utf8.Valid(text) || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || json.Compact(&compact, text) != nil {
		return d, usage("approvals edit: the arguments are not a JSON object; write one such as '{\"key\": \"value\"}'")
	}
	if len(text) > approval.MaxJSON {
		return d, usage("approvals edit: the arguments have more than %d KiB", approval.MaxJSON>>10)
	}
	d.Args = compact.Bytes()
	return d, nil
}

// decide shows an approval, asks the person, and decides it.
func (p *program) decide(ctx context.Context, client *adminsocket.Client, id string, q adminsocket.Query, d adminsocket.Decision) (*adminsocket.Decided, error) {
	shown, err := client.Approval(ctx, id, q)
	if err != nil {
		return nil, shownError(err)
	}
	a := shown.Approval
	if a.State != approval.Pending {
		return nil, errors.New(visible.Text(approval.Conflict(a).Message))
	}
	f := facts{columns: columnsOf(p.stderr)}
	if d.Verb == approval.Edit {
		f.add("runs with", visible.Line(string(d.Args)))
	}
	f.add("reason", d.Reason)
	if _, err := io.WriteString(p.stderr, approvalText(shown, f.columns)+f.String()); err != nil {
		return nil, err
	}
	question := map[approval.Verb]string{
		approval.Approve: "Approve this", approval.Edit: "Approve this with the arguments after \"runs with\"", approval.Reject: "Reject this",
	}[d.Verb]
	if a.Kind == approval.KindOutcome && d.Verb == approval.Approve {
		question = "Run this again"
	}
	if err := p.confirm(ctx, question+", as "+visible.Line(shown.Caller.Subject)+"?"); err != nil {
		return nil, err
	}
	d.Digest = a.Digest
	decided, err := client.Decide(ctx, a.ID, q, d)
	if e, is := errors.AsType[*adminsocket.Error](err); is && e.Reason == string(approval.ReasonChanged) {
		return nil, fmt.Errorf("nothing was decided, because what it asks has changed meanwhile: run the command again to see it\n%s", visible.Text(e.Message))
	}
	if err != nil {
		return nil, changed(err, a.ID+" was decided", "a2a-server approvals show "+a.ID)
	}
	return decided, nil
}

// decidedText says what has been decided, and by whom if that was somebody else before.
func decidedText(id string, verb approval.Verb, d *adminsocket.Decided) string {
	past := map[approval.Verb]string{approval.Approve: "approved", approval.Edit: "approved with other arguments", approval.Reject: "rejected"}[verb]
	if d.Approval == nil || d.Approval.Resolution == nil {
		return visible.Line(id) + " was " + past
	}
	by := d.Approval.Resolution.By
	if by.Subject == d.Caller.Subject && by.Tenant == d.Caller.Tenant {
		return fmt.Sprintf("%s was %s by %s", d.Approval.ID, past, visible.Line(by.Subject))
	}
	return fmt.Sprintf("%s had been %s by %s already", d.Approval.ID, past, principalText(by))
}
