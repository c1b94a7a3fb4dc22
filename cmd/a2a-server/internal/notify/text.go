package notify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/task/notify"
)

// The limits of values in messages to people, in characters. The page has the rest.
const (
	maxName  = 100
	maxText  = 500
	maxArgs  = 1500
	maxTitle = 80
	maxLink  = 2000
)

// text is a message to a person. Only the title and the values of the fields have text of
// callers: one line, without invisible characters.
type text struct {
	title   string // of a mail
	lead    string
	fields  []field
	link    string // "": none
	page    string // introduces the link
	command string // of this program, which does without the link
}

type field struct{ label, value string }

// add adds a field with a value, shortened to limit characters.
func (t *text) add(label, value string, limit int) {
	if value != "" {
		t.fields = append(t.fields, field{label, visible.Clip(value, limit)})
	}
}

// textOf returns the text of a message. The error wraps [notify.ErrPermanent].
func textOf(m *notify.Message) (*text, error) {
	t := &text{link: linkOf(m.Link)}
	switch m.Event {
	case notify.EventAsked:
		t.lead, t.title = "An approval waits for a decision.", "Approval needed: "
	case notify.EventReminded:
		t.lead, t.title = "An approval still waits for a decision.", "Reminder, approval needed: "
	case notify.EventEscalated:
		t.lead, t.title = "Nobody has decided an approval in time, so it is escalated.", "Escalated, approval needed: "
	case notify.EventResolved:
		outcome := cmp.Or(outcomes[approval.State(m.State)], "ended")
		t.lead, t.title = "An approval "+outcome+".", "Approval "+outcome+": "
		t.page = "See this page:"
	case notify.EventSummary:
		return t.summary(m.Count), nil
	default:
		return nil, fmt.Errorf("a message of the unknown event %s is %w", visible.Quote(m.Event, maxName), notify.ErrPermanent)
	}
	if m.Event != notify.EventResolved {
		t.page = "Decide on this page (opening it decides nothing):"
	}
	t.title += visible.Clip(m.Tool, maxTitle)
	if first, _, _ := strings.Cut(m.Hint, "\n"); first != "" {
		t.title += ": " + visible.Clip(first, maxTitle)
	}
	t.add("Tool", m.Tool, maxName)
	t.add("Hint", strings.ReplaceAll(m.Hint, "\n", " "), maxText) // of gate and tool
	t.add("Risk", m.Risk, maxName)
	t.add("Requester", m.Requester, maxName)
	t.add("Also for", strings.Join(m.Roles, ", "), maxText)
	if m.Event != notify.EventResolved {
		t.add("Until", untilOf(m.Expires), maxName)
	} else {
		t.add("Decided by", m.By, maxName)
		t.add("Reason", m.Reason, maxText)
	}
	t.add("Arguments", argumentsOf(m.Args), maxArgs)
	t.add("Task", m.Task, maxName)
	t.command = "a2a-server approvals list"
	if token.MatchString(m.Approval) {
		t.command = "a2a-server approvals show " + m.Approval
	}
	return t, nil
}

// summary completes the text that stands for count messages.
func (t *text) summary(count int) *text {
	t.lead = fmt.Sprintf("%d more messages about approvals were due in the hour before.", count)
	if count == 1 {
		t.lead = "1 more message about an approval was due in the hour before."
	}
	t.title = strings.TrimSuffix(t.lead, ".")
	t.page = "See:"
	t.command = "a2a-server approvals list"
	return t
}

// outcomes are the ends of an approval in words.
var outcomes = map[approval.State]string{
	approval.Approved: "was approved", approval.Edited: "was approved with other arguments", approval.Rejected: "was rejected",
	approval.Responded: "was answered", approval.Expired: "expired without a decision", approval.Canceled: "was canceled",
	approval.Superseded: "was replaced by a new one",
}

func untilOf(expires time.Time) string {
	if expires.IsZero() {
		return "no deadline"
	}
	return expires.UTC().Format("2006-01-02 15:04:05 UTC")
}

// argumentsOf returns arguments on one line.
func argumentsOf(args json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, args); err != nil {
		return ""
	}
	return b.String()
}

// linkOf returns a link that ends where readers, Slack and mail programs see its end; "" if
// raw is none.
func linkOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(raw) > maxLink {
		return ""
	}
	if strings.ContainsAny(raw, " <>|\"'`\\") || strings.ContainsFunc(raw, visible.Invisible) {
		return ""
	}
	return raw
}

// token matches what has no meaning to a shell.
var token = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// lines returns the fields as lines.
func (t *text) lines() string {
	var b strings.Builder
	for _, f := range t.fields {
		fmt.Fprintf(&b, "%-11s %s\n", f.label+":", f.value)
	}
	return b.String()
}

// plain returns the text as the body of a mail.
func (t *text) plain() string {
	var b strings.Builder
	b.WriteString(t.lead + "\n\n")
	if len(t.fields) > 0 {
		b.WriteString(t.lines() + "\n")
	}
	if t.link != "" {
		b.WriteString(t.page + "\n" + t.link + "\n\n")
	}
	b.WriteString("On the command line: " + t.command + "\n")
	return b.String()
}
