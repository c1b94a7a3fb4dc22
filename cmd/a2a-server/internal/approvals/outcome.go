package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/visible"
)

// How long approve and edit wait for the end of the call, and how often they look.
const (
	maxWait     = time.Minute
	noteAfter   = time.Second
	firstLook   = 50 * time.Millisecond
	longestLook = 2 * time.Second
)

// starts reports whether a decision lets the call run now.
func starts(d *client.Decided) bool {
	return d.Approval != nil && (d.Approval.State == client.Approved || d.Approval.State == client.Edited)
}

// waitForCall returns the call of an approval once it has ended or asks again, and else as it is after
// maxWait or at the end of ctx. It is nil if the caller may not read the task.
func waitForCall(ctx context.Context, p *cli.Program, s *remote.Server, id string) (*client.Call, error) {
	begun, pause, noted := time.Now(), firstLook, false
	timer := time.NewTimer(0)
	defer timer.Stop()
	var run *client.Call
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return run, nil
		}
		d, err := s.Approval(ctx, id)
		if err != nil && ctx.Err() == nil {
			return run, err
		}
		if err == nil {
			run = d.Run
		}
		waited := time.Since(begun)
		if run == nil || ended(run) || asksAgain(run, id) || waited >= maxWait {
			return run, nil
		}
		if waited >= noteAfter && !noted {
			noted = true
			p.Note("waiting for the call; Ctrl-C leaves it running")
		}
		timer.Reset(pause)
		pause = min(pause*3/2, longestLook)
	}
}

// ended reports whether a call has ended, or is known to have an unknown outcome.
func ended(run *client.Call) bool { return run.State == "finished" || run.State == "unknown" }

// asksAgain reports whether a call waits for another approval than the one with the id.
func asksAgain(run *client.Call, id string) bool {
	n := len(run.Approvals)
	return run.State == "asked" && n > 0 && run.Approvals[n-1] != id
}

// outcomeText says how a call stands that was approved under the id: as the answer of the tool, or as
// an error with its exit code.
func outcomeText(s *remote.Server, run *client.Call, id string) (string, error) {
	if run == nil {
		return "", nil // the caller may not read the task
	}
	tool := visible.Line(run.Tool)
	switch {
	case asksAgain(run, id):
		again := run.Approvals[len(run.Approvals)-1]
		return "", cli.Exit(cli.ExitTimeout, fmt.Sprintf("%s waits for another approval: '%s' shows it", tool, s.Command("approvals", "show", again)))
	case !ended(run):
		return "", cli.Exit(cli.ExitTimeout, fmt.Sprintf("%s has not ended yet: '%s' shows its outcome", tool, s.Command("approvals", "show", id)))
	case run.State == "unknown" || run.Outcome == "unknown":
		return "", cli.Exit(cli.ExitUnknown, fmt.Sprintf("it is not known whether %s has run%s", tool, display.After(": ", visible.Text(run.Error))))
	case run.Outcome != "ok":
		verdict := cmp.Or(map[string]string{"error": "has failed", "canceled": "was canceled", "denied": "was denied by a gate"}[run.Outcome], "has ended as "+visible.Line(run.Outcome))
		return "", cli.Exit(cli.ExitCall, tool+" "+verdict+display.After(": ", visible.Text(run.Error)))
	}
	text := string(run.Result)
	_ = json.Unmarshal(run.Result, &text) // a text is shown without quotes
	return tool + " answered" + display.After(": ", visible.Text(text)) + "\n", nil
}

// decidedCall is the output of 'approvals approve -o json'.
type decidedCall struct {
	*client.Decided
	Run *client.Call `json:"run,omitempty"` // nil: the command has not waited, or the caller may not read the task
}

// printDecided prints a decision and, if the command waits for the call, its outcome.
func printDecided(ctx context.Context, p *cli.Program, s *remote.Server, as cli.Form, text string, d *client.Decided, waits bool) error {
	waits = waits && starts(d)
	if !waits {
		return p.Show(as, d, text)
	}
	id := d.Approval.ID
	if as != cli.AsJSON {
		if err := p.Show(as, d, text); err != nil {
			return err
		}
	}
	run, err := waitForCall(ctx, p, s, id)
	if err != nil {
		return cli.Exit(cli.ExitTimeout, fmt.Sprintf("the decision was made; how its call stands is not known: %v\nWhen the server answers again, '%s' shows it", s.Explain(err), s.Command("approvals", "show", id)))
	}
	answer, err := outcomeText(s, run, id)
	if as == cli.AsJSON {
		if broken := p.PrintJSON(decidedCall{d, run}); broken != nil {
			return broken
		}
		return err
	}
	if err == nil && answer != "" {
		err = p.Show(as, run, answer)
	}
	return err
}
