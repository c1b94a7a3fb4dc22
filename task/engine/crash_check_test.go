//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// autopsy compares three things after the last process has exited: what the
// processes acknowledged and showed, what the tools wrote down, and what the file
// says.
type autopsy struct {
	*testing.T
	lives  []*life
	ledger []entry
	tasks  map[string]*body // by id
	audit  []approval.Audit
}

// body is a task as the file has it.
type body struct {
	header    store.Header
	events    []store.Event
	approvals []approval.Approval
	finished  map[string]string // outcome by call
	unknown   map[string]bool   // by call: at some time nobody knew what came of it
	suspended map[string]bool   // by call
	kept      map[string]int    // by call: the newest checkpoint
	doubted   map[string]bool   // by call: a person was asked about it after it had kept something
}

func check(t *testing.T, dir string, lives []*life) {
	t.Helper()
	a := &autopsy{T: t, lives: lives, tasks: map[string]*body{}}
	if err := a.read(dir); err != nil {
		t.Fatal(err)
	}
	for _, b := range a.tasks {
		a.checkLog(b)
	}
	a.checkSaid()
	a.checkLedger()
	a.checkJobs()
	a.checkHeld()
	a.checkScenes()
	if t.Failed() {
		for _, e := range a.ledger {
			t.Logf("ledger: %+v", e)
		}
	}
}

func (a *autopsy) read(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "ledger"))
	if err != nil {
		return err
	}
	for text := range strings.Lines(string(data)) {
		var e entry
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return fmt.Errorf("ledger: %q: %w", text, err)
		}
		a.ledger = append(a.ledger, e)
	}
	db, err := boltstore.Open(filepath.Join(dir, "store.db"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	h, err := db.Handle()
	if err != nil {
		return err
	}
	ctx := context.Background()
	page, err := h.Tasks(ctx, store.System(), store.Query{Limit: 1000})
	if err != nil {
		return err
	}
	for i := range page.Tasks {
		b, err := readBody(ctx, h, page.Tasks[i].Task)
		if err != nil {
			return err
		}
		a.tasks[b.header.Task.String()] = b
	}
	for after := uint64(0); ; {
		entries, err := h.Audit(ctx, after, 1000)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if e.N != after+1 {
				a.Errorf("audit entry %d follows %d", e.N, after)
			}
			after = e.N
			var entry approval.Audit
			if err := json.Unmarshal(e.Data, &entry); err != nil {
				return err
			}
			a.audit = append(a.audit, entry)
		}
	}
}

func readBody(ctx context.Context, h store.Handle, id store.TaskID) (*body, error) {
	b := &body{finished: map[string]string{}, unknown: map[string]bool{}, suspended: map[string]bool{}, kept: map[string]int{}, doubted: map[string]bool{}}
	for more, n := true, uint64(0); more; {
		v, err := h.Read(ctx, store.System(), id, store.After(n), store.Limit{})
		if err != nil {
			return nil, err
		}
		b.header, more = v.Header, v.More
		b.events = append(b.events, v.Events...)
		if len(v.Events) > 0 {
			n = v.Events[len(v.Events)-1].Seq
		}
	}
	for _, e := range b.events {
		var x struct {
			Call, Outcome, Kind string
			State               json.RawMessage
		}
		if !e.Public {
			if err := json.Unmarshal(e.Data, &x); err != nil {
				return nil, err
			}
		}
		switch e.Kind {
		case "call.finished.v1":
			b.finished[x.Call] = x.Outcome
		case "call.unknown.v2":
			b.unknown[x.Call] = true
		case "call.suspended.v1":
			b.suspended[x.Call] = true
		case "call.checkpoint.v1":
			n := 0
			if err := json.Unmarshal(x.State, &n); err != nil {
				return nil, err
			}
			b.kept[x.Call] = n
		case "approval.requested.v1":
			b.doubted[x.Call] = b.doubted[x.Call] || x.Kind == string(approval.KindOutcome) && b.kept[x.Call] > 0
		}
	}
	rows, err := h.Rows(ctx, store.System(), store.RowQuery{Kind: "approval", Task: id, Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Rows {
		var x approval.Approval
		if err := json.Unmarshal(row.Value, &x); err != nil {
			return nil, err
		}
		b.approvals = append(b.approvals, x)
	}
	return b, nil
}

func (b *body) String() string {
	s := fmt.Sprintf("%+v\n", b.header)
	for _, e := range b.events {
		if e.Kind != "artifact" {
			s += fmt.Sprintf("%4d %3d %s %.400s\n", e.Seq, e.Pub, e.Kind, e.Data)
		}
	}
	return s
}

// checkLog looks for gaps, and for what is left over.
func (a *autopsy) checkLog(b *body) {
	seq, pub := uint64(0), uint64(0)
	for _, e := range b.events {
		if seq++; e.Seq != seq {
			a.Errorf("task %s: event %d follows %d", b.header.Task, e.Seq, seq-1)
			return
		}
		if e.Public {
			if pub++; e.Pub != pub {
				a.Errorf("task %s: public event %d follows %d", b.header.Task, e.Pub, pub-1)
				return
			}
		}
	}
	h := &b.header
	if h.Seq != seq || h.Pub != pub {
		a.Errorf("task %s: header has seq %d, pub %d; the log has %d, %d", h.Task, h.Seq, h.Pub, seq, pub)
	}
	if h.Phase != store.Final || h.Due != 0 || h.Pending != 0 {
		a.Errorf("task %s did not come to its end:\n%s", h.Task, b)
	}
	resolved := map[string]int{}
	for _, e := range a.audit {
		if e.What == approval.AuditResolved && e.Task == h.Task.String() {
			resolved[e.Approval]++
		}
	}
	for _, x := range b.approvals {
		if x.State == approval.Pending || x.Resolution == nil || resolved[x.ID] != 1 {
			a.Errorf("approval %s is %s and was resolved %d times according to the audit", x.ID, x.State, resolved[x.ID])
		}
	}
}

// checkSaid looks for acknowledgements that were lost, and for events that changed
// after they had been shown.
func (a *autopsy) checkSaid() {
	made := map[string]string{} // task by scene
	// A client decides and cancels what stands open. What it was told is done must
	// not stand open again, not in a later process either.
	done := map[string]bool{}
	for _, l := range a.lives {
		for _, said := range l.lines {
			b := a.tasks[said.Task]
			switch said.What {
			case "hits", "failed":
				continue
			case "sent":
				if first := made[said.Scene]; first != "" && first != said.Task {
					a.Errorf("the message of scene %s made task %s, and later task %s", said.Scene, first, said.Task)
				}
				made[said.Scene] = said.Task
			}
			if b == nil {
				a.Errorf("acknowledged task %s is lost: %s %s", said.Task, said.What, said.Scene)
				continue
			}
			switch said.What {
			case "decided", "canceled":
				what := said.What + " " + said.Task + " " + said.Approval
				if done[what] {
					a.Errorf("acknowledged and lost, and acknowledged again: %s %s", what, said.Verb)
				}
				done[what] = true
				if said.What == "decided" {
					a.checkDecided(b, said)
				} else if is := a.state(b); is != canceled {
					a.Errorf("acknowledged cancel of %s is lost: it is %s", said.Task, is)
				}
			case "shown":
				for _, e := range said.Events {
					if e.Seq > uint64(len(b.events)) {
						a.Errorf("task %s: event %d was shown and is lost", said.Task, e.Seq)
						continue
					}
					if is := b.events[e.Seq-1]; is.Pub != e.Pub || string(is.Data) != e.Data {
						a.Errorf("task %s: event %d was shown as %d %s and is %d %s", said.Task, e.Seq, e.Pub, e.Data, is.Pub, is.Data)
					}
				}
			case "ended":
				if is := a.state(b); said.State != is {
					a.Errorf("task %s was seen to end in %s and is %s", said.Task, said.State, is)
				}
			}
		}
	}
	if len(made) != len(scenes) || len(a.tasks) != len(scenes) {
		a.Errorf("%d scenes sent %d messages and made %d tasks", len(scenes), len(made), len(a.tasks))
	}
}

// state is the newest that the task's public events say.
func (a *autopsy) state(b *body) a2a.TaskState {
	for i := len(b.events) - 1; i >= 0; i-- {
		if b.events[i].Kind != "status" {
			continue
		}
		var r a2a.StreamResponse
		if err := json.Unmarshal(b.events[i].Data, &r); err != nil {
			a.Fatalf("task %s, event %d: %v", b.header.Task, b.events[i].Seq, err)
		}
		if u, ok := r.Event.(*a2a.TaskStatusUpdateEvent); ok {
			return u.Status.State
		}
	}
	return ""
}

func (a *autopsy) checkDecided(b *body, said line) {
	for _, x := range b.approvals {
		if x.ID != said.Approval {
			continue
		}
		if x.Resolution == nil || x.Resolution.Verb != said.Verb {
			a.Errorf("acknowledged decision %s of %s is lost: it is %s by %+v", said.Verb, x.ID, x.State, x.Resolution)
		}
		return
	}
	a.Errorf("acknowledged decision %s: there is no approval %s", said.Verb, said.Approval)
}

// checkLedger compares what tools did with what people allowed.
func (a *autopsy) checkLedger() {
	type at struct {
		task, call string
		phase      int
	}
	type of struct{ task, call string }
	runs, calls := map[at]int{}, map[of]int{}
	first := map[of]entry{}
	for _, e := range a.ledger {
		if e.Task == "" {
			continue // not a run
		}
		runs[at{e.Task, e.Call, e.Phase}]++
		calls[of{e.Task, e.Call}]++
		first[of{e.Task, e.Call}] = e
		b := a.tasks[e.Task]
		if b == nil && readOnly(e.Tool) {
			continue // it may run before its task is durable: nobody has seen anything yet
		}
		if b == nil {
			a.Errorf("a tool ran for task %s, which does not exist: %+v", e.Task, e)
			continue
		}
		if asks := e.Tool != "question" && gatedTool(e.Tool); asks && !b.allowed(e) {
			a.Errorf("a gated tool ran without an approval of just these arguments: %+v\n%s", e, b)
		}
	}
	for k, n := range runs {
		if jobs[first[of{k.task, k.call}].Tool] && k.phase > 0 {
			continue // see checkJobs
		}
		e := first[of{k.task, k.call}]
		if b := a.tasks[k.task]; b != nil && !repeatable(e.Tool) && n > 1+b.againApproved(k.call) {
			a.Errorf("%s ran %d times in phase %d and may have run %d times\n%s", e.Tool, n, k.phase, 1+b.againApproved(k.call), b)
		}
	}
	// Each run of what has effects was durable before it began.
	started := map[of]int{}
	for _, e := range a.audit {
		if e.What == approval.AuditStarted {
			started[of{e.Task, e.Call}]++
		}
	}
	for k, n := range calls {
		if e := first[k]; !readOnly(e.Tool) && n > started[k] {
			a.Errorf("%s ran %d times and was started %d times\n%s", e.Tool, n, started[k], a.tasks[k.task])
		}
	}
	for id, b := range a.tasks {
		for call, outcome := range b.finished {
			if outcome == "ok" && calls[of{id, call}] == 0 {
				a.Errorf("call %s of task %s succeeded and never ran\n%s", call, id, b)
			}
		}
	}
}

func readOnly(name string) bool {
	return name == "echo" || name == "stream" || name == "held_safe"
}
func repeatable(name string) bool { return readOnly(name) || name == "again" || name == "pay" }

// jobs are the tools that keep what they have done.
var jobs = map[string]bool{"job": true, "charge": true}

// checkJobs looks at the calls that keep what they have done: what they were told is
// durable is what they are entered again with, and nobody is asked about them.
func (a *autopsy) checkJobs() {
	newest := map[string]int{} // by scene
	for _, e := range a.ledger {
		key, _ := e.Args["key"].(string)
		name, told := strings.CutSuffix(e.Tool, " kept")
		switch {
		case !jobs[name]:
		case told:
			newest[key] = e.Kept
		case e.Kept < newest[key] || e.Kept > newest[key]+1: // one more may be durable than it was told
			a.Errorf("scene %s: %s was told that %d is durable, and is entered again with %d", key, name, newest[key], e.Kept)
		}
	}
	for id, b := range a.tasks {
		for call := range b.doubted {
			if b.doubted[call] {
				a.Errorf("a person was asked about call %s of task %s, which had kept what it did\n%s", call, id, b)
			}
		}
	}
}

// checkHeld looks at the questions that held calls: nothing is pending when a task has
// ended, a tool was told only what is durable, and no question was decided after the call
// that asked it was given up.
func (a *autopsy) checkHeld() {
	answered := map[string]int{} // by scene and state
	for _, e := range a.ledger {
		if strings.HasSuffix(e.Tool, " answered") {
			key, _ := e.Args["key"].(string)
			state, _ := e.Args["state"].(string)
			answered[key+" "+state]++
		}
	}
	tasks := map[string]string{}
	for _, l := range a.lives {
		for _, said := range l.lines {
			if said.What == "sent" {
				tasks[said.Scene] = said.Task
			}
		}
	}
	for i := range scenes {
		s := &scenes[i]
		b := a.tasks[tasks[s.name]]
		if b == nil || !strings.HasPrefix(s.tools[0], "held") {
			continue
		}
		decided := map[approval.State]int{}
		for _, x := range b.approvals {
			if x.Held {
				decided[x.State]++
			}
		}
		if decided[approval.Pending] > 0 {
			a.Errorf("scene %s: %d questions are pending although the task has ended\n%s", s.name, decided[approval.Pending], b)
		}
		for _, state := range []approval.State{approval.Responded, approval.Rejected} {
			if n := answered[s.name+" "+string(state)]; n > decided[state] {
				a.Errorf("scene %s: %d runs were told that their question is %s, and the log has %d\n%s", s.name, n, state, decided[state], b)
			}
		}
		held := ""
		for _, e := range b.events {
			var x struct {
				ID, State string
				Held      bool
			}
			if e.Public || json.Unmarshal(e.Data, &x) != nil {
				continue
			}
			switch {
			case e.Kind == "approval.requested.v1" && x.Held:
				held = x.ID
			case e.Kind == "approval.resolved.v1" && x.ID == held:
				held = ""
			case e.Kind == "call.unknown.v2" && held != "":
				a.Errorf("scene %s: the call is unknown, and %s is open\n%s", s.name, held, b)
			}
		}
	}
}

func gatedTool(name string) bool {
	return name == "charge" || name == "transfer" || name == "pay" || name == "confirm" || strings.HasPrefix(name, "deadline")
}

// allowed reports whether somebody approved a run with just its arguments.
func (b *body) allowed(e entry) bool {
	ran, err := json.Marshal(e.Args)
	if err != nil {
		return false
	}
	for _, x := range b.approvals {
		if x.Kind != approval.KindCall || x.Call != e.Call {
			continue
		}
		switch {
		case x.State == approval.Approved && sameJSON(x.Args, ran):
			return true
		case x.State == approval.Edited && sameJSON(x.Resolution.Args, ran):
			return true
		}
	}
	return false
}

// askedOutcome reports whether somebody was ever asked what came of a call.
func (b *body) askedOutcome() bool {
	return slices.ContainsFunc(b.approvals, func(x approval.Approval) bool { return x.Kind == approval.KindOutcome })
}

// againApproved is how often somebody allowed to run a call again whose result was
// not known.
func (b *body) againApproved(call string) int {
	n := 0
	for _, x := range b.approvals {
		if x.Kind == approval.KindOutcome && x.Call == call && x.State == approval.Approved {
			n++
		}
	}
	return n
}

// checkScenes looks at what became of each scene. Where nobody ever had to ask what
// came of a call, that is known exactly.
func (a *autopsy) checkScenes() {
	parts := map[string]int{} // of the first artifact as it was seen at last
	tasks := map[string]string{}
	for _, l := range a.lives {
		for _, said := range l.lines {
			if said.What == "sent" {
				tasks[said.Scene] = said.Task
			}
			if said.What == "ended" {
				parts[said.Scene] = said.Parts
			}
		}
	}
	for i := range scenes {
		s := &scenes[i]
		b := a.tasks[tasks[s.name]]
		if b == nil {
			continue // said elsewhere
		}
		runs, told := map[string]int{}, 0
		for _, e := range a.ledger {
			if e.Args["key"] != s.name {
				continue
			}
			switch {
			case e.Tool == "remote told":
				told++
			case strings.HasSuffix(e.Tool, " answered"):
			default:
				runs[e.Tool]++
			}
		}
		if s.tools[0] == "stream" {
			a.checkStream(s, b, parts[s.name])
		}
		if b.suspended["c1.1"] && s.tools[0] == "remote" && told == 0 {
			a.Errorf("scene %s: what runs elsewhere was never told that it was canceled\n%s", s.name, b)
		}
		// A scene without what has effects never needs a person to say what came of it.
		if len(b.unknown) > 0 && s.outcome != "" && (!jobs[s.tools[0]] || b.askedOutcome()) {
			continue
		}
		if is := a.state(b); s.want != "" && is != s.want {
			a.Errorf("scene %s: state = %s, want %s\n%s", s.name, is, s.want, b)
		}
		for name, want := range s.runs {
			if runs[name] != want {
				a.Errorf("scene %s: %s ran %d times, want %d\n%s", s.name, name, runs[name], want, b)
			}
		}
	}
}

// checkStream folds the chunks of a streaming call: each run begins again, and the
// last one is whole.
func (a *autopsy) checkStream(s *scene, b *body, parts int) {
	next := 0
	for _, e := range b.events {
		if e.Kind != "artifact" {
			continue
		}
		var r a2a.StreamResponse
		if err := json.Unmarshal(e.Data, &r); err != nil {
			a.Fatalf("scene %s, event %d: %v", s.name, e.Seq, err)
		}
		u, ok := r.Event.(*a2a.TaskArtifactUpdateEvent)
		if !ok || len(u.Artifact.Parts) != 1 {
			a.Fatalf("scene %s, event %d: %s", s.name, e.Seq, e.Data)
		}
		text := u.Artifact.Parts[0].Text()
		if text == "" {
			continue // the end, marked
		}
		if !u.Append {
			next = 0
		}
		if want := fmt.Sprintf("chunk %d ", next); !strings.HasPrefix(text, want) {
			a.Errorf("scene %s, event %d: %q, want %q", s.name, e.Seq, text, want)
			return
		}
		next++
	}
	if next != chunks || parts < chunks || parts > chunks+1 {
		a.Errorf("scene %s: %d chunks in the log and %d parts in the task, want %d", s.name, next, parts, chunks)
	}
}
