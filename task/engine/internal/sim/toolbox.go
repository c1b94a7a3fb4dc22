package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Toolbox is the tools of a run: a tool for each of its traits, in a toolset for each form.
// They can change, go away and come back, and so can the toolsets.
type Toolbox struct {
	s        *Scheduler
	coverage *Coverage
	traits   []Traits
	version  map[string]int
	gone     map[string]bool
	failing  [forms]bool
	digests  map[string]string // of definitions
	blocked  []*blocked

	Ledger Ledger
	// Entered, when set, is called when a tool is entered, before it does anything.
	Entered func(*Run)
	// Kept, when set, is called when a tool was told that a checkpoint is durable.
	Kept func(*Run, string)
	// Answered, when set, is called when a tool gets the outcome of a question that it waited
	// for; over says that it did not want to wait any longer.
	Answered func(r *Run, asked tool.Question, a tool.Answer, err error, over bool)
	// Flaky makes a toolset fail once in a while.
	Flaky bool
}

// blocked is a run that waits until it is released.
type blocked struct {
	p       *Process
	run     *Run
	release chan struct{}
}

// errToolsetDown is not tool.ErrUnknownTool: the tools are unknown.
var errToolsetDown = errors.New("connection refused")

// NewToolbox returns the tools of these traits.
func NewToolbox(s *Scheduler, c *Coverage, traits []Traits) *Toolbox {
	return &Toolbox{s: s, coverage: c, traits: traits, version: map[string]int{}, gone: map[string]bool{}, digests: map[string]string{}}
}

// Registry returns the tools as a process sees them.
func (b *Toolbox) Registry(p *Process) *tool.Registry {
	var sets []tool.Toolset
	for form := range forms {
		for _, t := range b.traits {
			if t.Form == form {
				sets = append(sets, &toolset{b: b, p: p, form: form})
				break
			}
		}
	}
	return tool.NewRegistry(sets...)
}

// toolset has the tools of a form.
type toolset struct {
	b    *Toolbox
	p    *Process
	form Form
}

func (t *toolset) Name() string { return t.form.String() }

// Tools fails while its toolset does.
func (t *toolset) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	b := t.b
	if b.failing[t.form] || b.Flaky && b.s.choices.Rarely(Faults, 32) {
		b.coverage.Count("fault: toolset failed")
		return nil, errToolsetDown
	}
	var tools []tool.Tool
	for _, traits := range b.traits {
		if traits.Form == t.form && !b.gone[traits.Name()] {
			tools = append(tools, b.tool(t.p, traits, b.version[traits.Name()]))
		}
	}
	return tools, nil
}

// Change gives a tool another definition. Every third definition takes other arguments.
func (b *Toolbox) Change(name string) {
	b.version[name]++
	b.coverage.Count("fault: tool changed")
	b.s.Note("tool %s changes to version %d", name, b.version[name])
}

// Remove takes a tool away.
func (b *Toolbox) Remove(name string) {
	b.gone[name] = true
	b.coverage.Count("fault: tool gone")
	b.s.Note("tool %s is gone", name)
}

// Fail makes a toolset fail until Restore.
func (b *Toolbox) Fail(f Form) {
	b.failing[f] = true
	b.s.Note("toolset %s fails", f)
}

// Restore brings all tools and toolsets back, with the definitions that they have by
// then.
func (b *Toolbox) Restore() {
	clear(b.gone)
	b.failing = [forms]bool{}
	b.s.Note("the tools are back")
}

// Digest returns the digest of a definition that a tool has, or once had.
func (b *Toolbox) Digest(t Traits, version int) string {
	key := fmt.Sprint(t.Name(), version)
	if d, ok := b.digests[key]; ok {
		return d
	}
	r := tool.NewRegistry(tool.NewToolset("one", b.tool(nil, t, version)))
	entry, err := r.Lookup(nil, t.Name())
	if err != nil {
		panic(err)
	}
	b.digests[key] = entry.Digest
	return entry.Digest
}

// Blocked returns how many runs wait to be released.
func (b *Toolbox) Blocked() int {
	b.blocked = slices.DeleteFunc(b.blocked, func(w *blocked) bool { return w.p.dead })
	return len(b.blocked)
}

// Release lets a waiting run continue.
func (b *Toolbox) Release(i int) {
	if n := b.Blocked(); n > 0 {
		w := b.blocked[i%n]
		close(w.release)
		b.blocked = append(b.blocked[:i%n:i%n], b.blocked[i%n+1:]...)
	}
}

// ReleaseAll lets all runs that wait continue.
func (b *Toolbox) ReleaseAll() {
	for b.Blocked() > 0 {
		b.Release(0)
	}
}

// block waits until the run is released, or ctx ends when it heeds that. It reports
// whether ctx has ended.
func (b *Toolbox) block(ctx context.Context, p *Process, r *Run, heeds bool) bool {
	w := &blocked{p, r, make(chan struct{})}
	b.blocked = append(b.blocked, w)
	var done <-chan struct{}
	if heeds {
		done = ctx.Done()
	}
	if p.Wait(w.release, done) == 1 {
		b.blocked = slices.DeleteFunc(b.blocked, func(o *blocked) bool { return o == w })
		return true
	}
	return ctx.Err() != nil
}

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
