package sim

import (
	"encoding/json"

	"a2a-server/tool"
)

// Run is a run of a tool, as seen by the world outside.
type Run struct {
	N       int // 1, 2, 3 … over all tools
	Process *Process
	Task    string
	Call    string
	Traits  Traits
	Version int    // of the tool's definition
	Args    string // as JSON
	Entry   int    // how often the call was entered, this time included
	Resumed bool   // the tool was told that it continues
	State   string // … with this state
	Answers int    // … and so many answers
	Way     Way
	Effect  bool                       // it has changed the world
	Reports int                        // of its progress
	Seen    map[string]any             // state that the tool was entered with
	Sets    map[string]json.RawMessage // … and that it has set
	NoRoom  bool                       // … which the log refuses, with the result

	Returned bool // else the process died within it, or it runs
	Result   bool // it returned a result, and asked for nothing that is undecided
	Err      error
	Paused   bool // it returned a suspension
	NoEffect bool // it returned that it had no effect
	Unsure   bool // it returned that its outcome is unknown
	CutOff   bool // its context had ended by then
}

// Ledger records the effects of the tools. No crash undoes it.
type Ledger struct {
	Runs []*Run

	entries map[string]int // by task and call
}

// Of returns the runs of a call.
func (l *Ledger) Of(task, call string) []*Run {
	var runs []*Run
	for _, r := range l.Runs {
		if r.Task == task && r.Call == call {
			runs = append(runs, r)
		}
	}
	return runs
}

func (l *Ledger) enter(p *Process, t *simTool, ctx tool.Context, args string, way Way) *Run {
	if l.entries == nil {
		l.entries = map[string]int{}
	}
	key := ctx.TaskID() + " " + ctx.FunctionCallID()
	l.entries[key]++
	again, resumed := tool.Resumed(ctx)
	r := &Run{
		N: len(l.Runs) + 1, Process: p, Task: ctx.TaskID(), Call: ctx.FunctionCallID(), Traits: t.traits, Version: t.version,
		Args: args, Entry: l.entries[key], Resumed: resumed, Way: way, Seen: seen(ctx),
	}
	if resumed {
		r.State, r.Answers = string(again.State), len(again.Answers)
	}
	l.Runs = append(l.Runs, r)
	return r
}
