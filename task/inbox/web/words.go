package web

import (
	"cmp"
	"fmt"
	"strings"

	"a2a-server/client"
)

// badge is a state or a risk: a shape, a colour and always a word.
type badge struct{ Class, Word string }

func riskOf(a *client.Approval) badge {
	switch {
	case a.Kind == client.KindQuestion:
		return badge{"q", "Question"}
	case a.Kind == client.KindOutcome:
		return badge{"q", "Outcome"}
	case a.Risk == "high":
		return badge{"high", "High"}
	case a.Risk == "medium":
		return badge{"med", "Medium"}
	}
	return badge{"low", "Low"}
}

// states are the states of an approval.
var states = map[client.State]badge{
	client.Pending: {"wait", "Pending"}, client.Approved: {"done", "Approved"}, client.Edited: {"done", "Approved with changes"},
	client.Rejected: {"fail", "Rejected"}, client.Responded: {"done", "Answered"},
	client.Expired: {"end", "Expired"}, client.Canceled: {"end", "Canceled"}, client.Superseded: {"end", "Replaced"},
}

func stateOf(state client.State) badge { return cmp.Or(states[state], badge{"end", string(state)}) }

func taskState(state string) badge {
	word := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(state, "TASK_STATE_"), "_", " "))
	if word == "" {
		return badge{"end", "Unknown"}
	}
	class := map[string]string{
		"submitted": "run", "working": "run", "input required": "wait", "auth required": "wait", "completed": "done", "failed": "fail", "rejected": "fail",
	}[word]
	return badge{cmp.Or(class, "end"), strings.ToUpper(word[:1]) + word[1:]}
}

// shortfall says how many calls of an ended task did not run, and why; "": all ran. none: no call ran.
func shortfall(calls []client.Call) (text string, none bool) {
	words := map[string]string{"rejected": "rejected", "denied": "denied by a gate", "expired": "not decided in time"}
	skipped, last, none := 0, "", true
	for i := range calls {
		word := words[calls[i].Outcome]
		none = none && word != ""
		if word == "" {
			continue
		}
		if skipped++; last != "" && last != word {
			word = "not run"
		}
		last = word
	}
	switch {
	case skipped == 0:
		return "", false
	case len(calls) == 1:
		return "its call was " + last, none
	case skipped == 1:
		return fmt.Sprintf("1 of %d calls was %s", len(calls), last), none
	}
	return fmt.Sprintf("%d of %d calls were %s", skipped, len(calls), last), none
}

// ended describes the effect of the deadline.
func ended(onDeadline string) string {
	switch onDeadline {
	case "cancel":
		return "then the task is canceled"
	case "keep":
		return "then it still waits"
	}
	return "then rejected"
}

// who is a principal in words.
func who(p *client.Principal) string {
	switch {
	case p == nil:
		return "nobody"
	case p.Person != "" && p.Person != p.Subject:
		return p.Person
	}
	return p.Subject
}

// through names the principals that act for a principal; "": none.
func through(p *client.Principal) string {
	if p == nil || len(p.Through) == 0 {
		return ""
	}
	return "through " + strings.Join(p.Through, ", ")
}

// ran describes the outcome of a call, with the class of its badge.
func ran(c *client.Call) (text, class string) {
	if c == nil {
		return "", ""
	}
	switch c.State {
	case "started":
		return "It runs now.", "run"
	case "suspended":
		return "It has started, and waits.", "run"
	case "unknown":
		return "It was started, and may or may not have had its effect.", "wait"
	case "decided":
		return "It is about to run.", "run"
	case "planned", "asked":
		return "It has not run.", "wait"
	}
	switch c.Outcome {
	case "ok":
		return "It ran, and succeeded.", "done"
	case "responded":
		return "A person supplied its result.", "done"
	case "error":
		return "It ran, and failed.", "fail"
	case "unknown":
		return "It was started, and its outcome stays unknown.", "fail"
	case "rejected", "denied", "expired", "invalid":
		return "It did not run.", "end"
	case "canceled":
		return "It was canceled.", "end"
	}
	return "It has ended.", "end"
}

// title is the subject of an approval, on a single line.
type title struct {
	Lead  []run
	Pairs []pair // arguments, if there is no sentence from a gate or tool
	More  string // that there are more arguments
}

type pair struct{ Name, Value []run }

const titleLength, titleValue, titlePairs = 120, 60, 4

// titleOf returns the sentence of an approval: that of its gate or tool, or else the tool and
// its arguments.
func titleOf(a *client.Approval) title {
	hint, _, _ := strings.Cut(a.Words, "\n")
	if hint != "" && (a.Kind != client.KindOutcome || a.Question != "") {
		return title{Lead: runs(shorten(hint, titleLength))}
	}
	t := title{Lead: runs(a.Tool)}
	if a.Kind == client.KindOutcome {
		t.Lead = runs("Did " + a.Tool + " run?")
	}
	left := 0
	for _, l := range tree(a.Arguments) {
		if l.Depth > 0 || l.Dim || len(t.Pairs) >= titlePairs {
			left++
			continue
		}
		value := l.raw
		if strings.HasPrefix(value, `"`) {
			value = unquote(value)
			if first, _, more := strings.Cut(value, "\n"); more {
				value = first + "…"
			}
		}
		t.Pairs = append(t.Pairs, pair{l.Name, runs(shorten(value, titleValue))})
	}
	if left > 0 {
		t.More = count(left, "more value")
	}
	return t
}

// gateName is a gate in words.
func gateName(name string) string {
	switch name {
	case "tool":
		return "the tool asks"
	case "default":
		return "no gate: asks by default"
	}
	if of, outcome := strings.CutSuffix(name, ":outcome"); outcome {
		return gateName(of)
	}
	return name
}

// heading returns a title as plain text, for the title of a page.
func (t title) heading() string {
	var b strings.Builder
	add := func(all []run) {
		for _, r := range all {
			b.WriteString(r.Text + r.Code)
		}
	}
	add(t.Lead)
	for _, p := range t.Pairs {
		b.WriteString(" ")
		add(p.Name)
		b.WriteString(" ")
		add(p.Value)
	}
	return b.String()
}
