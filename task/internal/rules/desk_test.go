package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// desk is a task without an engine: a log, and the rules that say what follows. What
// they draft is appended by the store's own arithmetic, and each input is put on a fold
// that is read again from the log.
type desk struct {
	t       *testing.T
	rules   *rules.Rules
	shelf   *shelf
	planner *steps
	now     time.Time
	current auth.Current // nil: everybody is as they were

	header  store.Header
	log     []store.Event
	rows    map[string]row
	due     []store.DueChange // that are there
	audit   []approval.Audit
	running map[string]*rules.Execution // by call
	entered []*rules.Execution          // of all drafts
	draft   *rules.Draft                // the newest, committed
	batch   *store.Batch                // of it
	ids     int
}

// row is the row of an approval.
type row struct {
	approval approval.Approval
	pending  bool // it is in the index of those that wait
}

var (
	alice = auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}
	bob   = auth.Principal{Tenant: "acme", Subject: "bob", Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "test"}
)

// presents knows the forms of questions and answers.
var presents = dialect.New(dialect.Config{})

var deskTask = store.TaskID{15: 7}

// newDesk returns a desk with tools. change, when not nil, has the last word on its
// rules.
func newDesk(t *testing.T, change func(*rules.Rules), tools ...*fake) *desk {
	t.Helper()
	k := &desk{
		t: t, shelf: &shelf{tools: tools}, planner: &steps{}, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		rows: map[string]row{}, running: map[string]*rules.Execution{},
	}
	k.rules = &rules.Rules{
		Tools: tool.NewRegistry(k.shelf, tool.NewToolset("another", &fake{name: "other"})), Policy: policy(t), Planner: k.planner,
		Presenter: dialect.New(dialect.Config{Keywords: true, NewID: k.newID}),
		Limits:    task.Limits{}.WithDefaults(), Agent: "desk", NewID: k.newID,
	}
	if change != nil {
		change(k.rules)
	}
	return k
}

// newPayDesk returns a desk with a task that asks whether its one call may pay.
func newPayDesk(t *testing.T) *desk {
	t.Helper()
	k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(call("pay", 1))
	return k
}

// restored returns the fold as its snapshot has it.
func (k *desk) restored() *fold.Fold {
	k.t.Helper()
	snapshot, _, err := k.fold().Encode(fold.SnapshotParts{Fold: true})
	if err != nil {
		k.t.Fatal(err)
	}
	f, err := fold.Decode(snapshot, nil, false /* viewOnly */)
	if err != nil {
		k.t.Fatal(err)
	}
	f.Header = k.header
	return f
}

func policy(t testing.TB, gates ...approval.Gate) *approval.Policy {
	t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: gates})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (k *desk) newID() string {
	k.ids++
	return fmt.Sprint("id-", k.ids)
}

func (k *desk) at() rules.At {
	return rules.At{Ctx: k.t.Context(), Now: k.now, Current: k.current, Running: func(call string) bool { return k.running[call] != nil }}
}

// fold reads the log.
func (k *desk) fold() *fold.Fold {
	k.t.Helper()
	f := fold.New(deskTask, k.header.Context)
	for i := range k.log {
		if err := f.Apply(&k.log[i]); err != nil {
			k.t.Fatalf("event %d: %v", i+1, err)
		}
	}
	f.Header = k.header
	return f
}

// begin makes the task with a step of calls.
func (k *desk) begin(calls ...task.PlannedCall) {
	k.t.Helper()
	k.planner.list = []*task.Step{{Calls: calls}}
	k.beginAs()
}

// beginAs makes the task with the steps that its planner has.
func (k *desk) beginAs() {
	k.t.Helper()
	k.goOn(k.create())
}

// create drafts the task.
func (k *desk) create() *rules.Draft {
	k.t.Helper()
	in := followUp(k.t, alice, &a2a.Message{ID: "first", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("go")}})
	d, err := rules.Create(k.rules, k.at(), rules.New{ID: deskTask, Message: in.Message, JSON: in.JSON, Context: k.rules.Readonly(k.t.Context(), alice)})
	if err != nil {
		k.t.Fatalf("Create() = %v", err)
	}
	return d
}

// put puts an input from outside, as an engine does: a task at rest runs on from it,
// one at work is told.
func (k *desk) put(in rules.Input) error {
	k.t.Helper()
	d, err := rules.On(k.rules, k.at(), k.fold(), in)
	if err == nil && d.Empty() {
		err = rules.ErrNoChange
	}
	if err != nil {
		return err
	}
	switch {
	case k.header.Phase == store.Parked && !d.Rests():
		d.TakeOver()
		k.goOn(d)
	case k.header.Phase == store.Live && d.Phase() != store.Final && !d.Quiet():
		k.commit(d)
		k.step(rules.LogChanged{})
	default:
		k.commit(d)
	}
	return nil
}

// mustPut is put for an input that counts.
func (k *desk) mustPut(in rules.Input) {
	k.t.Helper()
	if err := k.put(in); err != nil {
		k.t.Fatalf("%T is refused: %v", in, err)
	}
}

// step is a step of the task's turn.
func (k *desk) step(in ...rules.Input) {
	k.t.Helper()
	d, err := rules.On(k.rules, k.at(), k.fold(), in...)
	if err != nil {
		k.t.Fatalf("On(%T) = %v", in, err)
	}
	k.goOn(d)
}

func (k *desk) goOn(d *rules.Draft) {
	k.t.Helper()
	next := rules.NextNothing
	if d.Phase() != store.Final {
		var err error
		if next, err = d.Advance(); err != nil {
			k.t.Fatalf("Advance() = %v", err)
		}
		if err := d.GoLive(); err != nil {
			k.t.Fatalf("GoLive() = %v", err)
		}
	}
	k.commit(d)
	if next == rules.NextAgain {
		k.step()
	}
}

// commit appends a draft.
func (k *desk) commit(d *rules.Draft) {
	k.t.Helper()
	scope, header := store.System(), &k.header
	if k.header.Seq == 0 {
		scope, header = store.Owner(alice.Tenant, alice.Subject), nil
	}
	b := d.Batch(scope, nil)
	if err := b.Validate(); err != nil {
		k.t.Fatalf("the batch is no batch: %v", err)
	}
	h, r, err := store.Next(header, b, 1)
	if err != nil {
		k.t.Fatalf("the batch is refused: %v", err)
	}
	k.header, k.draft, k.batch = h, d, b
	k.log = append(k.log, b.Number(r)...)
	for _, c := range b.Due {
		k.due = slices.DeleteFunc(k.due, func(o store.DueChange) bool {
			return o.Time == c.Time && o.Kind == c.Kind && string(o.Key) == string(c.Key)
		})
		if !c.Delete {
			k.due = append(k.due, c)
		}
	}
	for _, c := range b.Rows {
		if c.Kind != task.RowApproval {
			continue
		}
		r := row{pending: slices.ContainsFunc(c.Index, func(k store.IndexKey) bool { return k.Index == task.IndexPending })}
		if err := json.Unmarshal(c.Value, &r.approval); err != nil {
			k.t.Fatalf("row %s: %v", c.Key, err)
		}
		k.rows[string(c.Key)] = r
	}
	k.audit = append(k.audit, audits(k.t, b)...)
	d.Committed(r)
	if diff := cmp.Diff(k.whole(k.fold()), k.whole(d.Fold())); diff != "" {
		k.t.Fatalf("the draft's fold is not what the log says (-log +draft):\n%s", diff)
	}
	for _, e := range d.Launch() {
		k.running[e.Call] = e
		k.entered = append(k.entered, e)
	}
}

// whole returns all that a fold knows: what a client sees, and what the rules do.
func (k *desk) whole(f *fold.Fold) [2]string {
	k.t.Helper()
	b, _, err := f.Encode(fold.SnapshotParts{Fold: true})
	if err != nil {
		k.t.Fatal(err)
	}
	n, err := strconv.Atoi(string(b[1:11])) // bytes of the rules' part
	if err != nil {
		k.t.Fatal(err)
	}
	return [2]string{string(f.View.AppendTask(nil, task.ViewOptions{HistoryLength: -1})), string(b[11 : 11+n])}
}

// audits returns the audit entries of a batch.
func audits(t *testing.T, b *store.Batch) []approval.Audit {
	t.Helper()
	all := make([]approval.Audit, len(b.Audit))
	for i, raw := range b.Audit {
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// ends says how the run of a call ended.
func (k *desk) ends(call string, how rules.RunEnded) {
	k.t.Helper()
	how.Entry = k.running[call]
	if how.Entry == nil {
		k.t.Fatalf("call %s does not run", call)
	}
	d, err := rules.On(k.rules, k.at(), k.fold(), how)
	if err != nil {
		k.t.Fatalf("the end of %s is refused: %v", call, err)
	}
	delete(k.running, call)
	k.goOn(d)
}

// returns says that the run of a call has returned a result.
func (k *desk) returns(call, result string) {
	k.t.Helper()
	k.ends(call, rules.RunEnded{Result: json.RawMessage(result)})
}

// pauses says that the run of a call has suspended it.
func (k *desk) pauses(call string, s tool.Suspension) {
	k.t.Helper()
	k.ends(call, rules.RunEnded{Suspension: &s})
}

// confirms says that the run of a call has asked to be confirmed, under a name.
func (k *desk) confirms(call, name string) {
	k.t.Helper()
	k.ends(call, rules.RunEnded{Asks: []rules.ToolQuestion{{ID: name, Question: tool.Question{Kind: tool.AskConfirm, Hint: "really?"}}}})
}

// dies says that the process of the task is gone, and that another one continues.
func (k *desk) dies() {
	k.t.Helper()
	clear(k.running)
	k.header.Fence++
	k.header.Rev++
	k.step()
}

// answer is a decision that does not come from the A2A client.
func (k *desk) answer(a ...approval.Decision) error {
	k.t.Helper()
	return k.put(rules.Decisions{By: bob, Via: approval.ViaAPI, List: a})
}

// decide is answer for a decision that counts.
func (k *desk) decide(id string, verb approval.DecisionType) {
	k.t.Helper()
	a := approval.Decision{ID: id, Type: verb}
	if verb == approval.Respond {
		a.Response = json.RawMessage(`"this"`)
	}
	if err := k.answer(a); err != nil {
		k.t.Fatalf("to %s %s = %v", verb, id, err)
	}
}

// says is a follow-up message of a text.
func (k *desk) says(id, text string, by auth.Principal) *rules.FollowUp {
	k.t.Helper()
	m := &a2a.Message{ID: id, TaskID: a2a.TaskID(deskTask.String()), Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
	return followUp(k.t, by, m)
}

func followUp(t *testing.T, by auth.Principal, m *a2a.Message) *rules.FollowUp {
	t.Helper()
	raw, err := rules.EncodeMessage(m)
	if err != nil {
		t.Fatal(err)
	}
	return &rules.FollowUp{By: by, Message: m, JSON: raw}
}

// pending returns the ids of the approvals that wait, oldest first.
func (k *desk) pending() []string {
	ids := []string{}
	for _, a := range k.fold().Pending() {
		ids = append(ids, a.ID)
	}
	return ids
}

// one returns the one approval that waits.
func (k *desk) one() *approval.Approval {
	k.t.Helper()
	pending := k.fold().Pending()
	if len(pending) != 1 {
		k.t.Fatalf("%v are pending, want one approval; the task is %s, %s", k.pending(), k.state(), k.text())
	}
	return pending[0]
}

// id is the id of the n-th approval.
func id(n int) string { return fmt.Sprintf("%s.a%d", deskTask, n) }

// approval returns the n-th approval, as its row has it.
func (k *desk) approval(n int) *approval.Approval {
	k.t.Helper()
	r, ok := k.rows[id(n)]
	if !ok {
		k.t.Fatalf("there is no approval %d; the task is %s, %s", n, k.state(), k.text())
	}
	return &r.approval
}

func (k *desk) state() a2a.TaskState { return k.fold().View.State() }

func (k *desk) wantState(want a2a.TaskState) {
	k.t.Helper()
	if got := k.state(); got != want {
		k.t.Fatalf("state = %s, want %s; %s", got, want, k.text())
	}
}

// text is what the task's status says.
func (k *desk) text() string {
	k.t.Helper()
	shown, err := k.fold().View.Task(task.ViewOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	text := ""
	if shown.Status.Message != nil {
		for _, p := range shown.Status.Message.Parts {
			text += p.Text()
		}
	}
	return text
}

// entries returns how often a call was entered.
func (k *desk) entries(call string) int {
	n := 0
	for _, e := range k.entered {
		if e.Call == call {
			n++
		}
	}
	return n
}

// wantEntries checks how often call c1.1 was entered.
func (k *desk) wantEntries(want int) {
	k.t.Helper()
	if got := k.entries("c1.1"); got != want {
		k.t.Fatalf("c1.1 was entered %d times, want %d; the task is %s, %s", got, want, k.state(), k.text())
	}
}

// outcome returns how a call has ended, and with what error.
func (k *desk) outcome(call string) (outcome task.Outcome, problem string) {
	k.t.Helper()
	for _, e := range k.log {
		var f struct {
			Call, Error string
			Outcome     task.Outcome
		}
		if e.Kind == "call.finished.v1" && json.Unmarshal(e.Data, &f) == nil && f.Call == call {
			outcome, problem = f.Outcome, f.Error
		}
	}
	return outcome, problem
}

// dueRow returns the due row of a kind and key as the scheduler hands it over.
func (k *desk) dueRow(kind, key string) store.Due {
	k.t.Helper()
	for _, d := range k.due {
		if d.Kind == kind && string(d.Key) == key {
			return store.Due{Time: d.Time, Task: deskTask, Kind: d.Kind, Key: d.Key, Payload: d.Payload}
		}
	}
	k.t.Fatalf("there is no due row %s %s among %v", kind, key, k.dues())
	return store.Due{}
}

// dues returns the kinds and keys of the due rows that are there, sorted.
func (k *desk) dues() []string {
	all := []string{}
	for _, d := range k.due {
		all = append(all, d.Kind+" "+string(d.Key))
	}
	slices.Sort(all)
	return all
}
