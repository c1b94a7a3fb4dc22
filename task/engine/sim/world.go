package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/rules"
)

// alice and carol own the tasks; bob may decide, but not by a message. carol has a role of approvers, too.
var (
	carol = auth.Principal{Tenant: "acme", Subject: "carol", Person: "carol", Roles: []string{auth.RoleRequester, "legal"}, Method: "sim"}
	alice = auth.Principal{Tenant: "acme", Subject: "alice", Person: "alice", Roles: []string{auth.RoleRequester}, Method: "sim"}
	bob   = auth.Principal{Tenant: "acme", Subject: "bob", Person: "bob", Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "sim"}
)

// world is a run: servers on one disk, tools, and clients that use them.
type world struct {
	cfg      Config
	s        *Scheduler
	choices  *Choices
	coverage *Coverage
	disk     *Disk
	tools    *Toolbox
	model    *model
	outside  *Process

	servers  []*server // alive; clients use the newest
	stopping []*server
	started  int
	ids      uint64
	messages int

	inline    bool
	hold      bool
	pushes    bool                 // clients set webhooks
	hooks     int                  // that were set, or tried to be
	healthy   bool                 // all that receivers do is accept
	terms     approval.Terms       // the defaults of all gates
	grants    *approval.GrantTerms // of the gates that allow them
	gates     gateSet              // of servers that start
	reloaded  bool                 // servers have had other gates
	limits    task.Limits
	created   []*sentMessage
	known     []*modelTask // tasks with ids known to clients
	clients   []*client
	finishing bool
	orphans   bool // a process has gone, and none was started since
}

// server is an engine in a process.
type server struct {
	p      *Process
	engine *engine.Engine
	ran    bool // Run has returned

	stopPush context.CancelFunc // nil: no push notifications
}

// Play plays the choices, and returns the failure, nil without any. sum is that of the
// scheduler: equal runs have equal sums.
func Play(c *Choices, cfg Config) (failure *Failure, sum uint64) {
	if cfg.Coverage == nil {
		cfg.Coverage = NewCoverage()
	}
	if cfg.Actions == 0 {
		cfg.Actions = 24
	}
	s := NewScheduler(c)
	s.Trace(cfg.Trace)
	defer s.Close()
	w := &world{cfg: cfg, s: s, choices: c, coverage: cfg.Coverage, disk: NewDisk(s), outside: s.Process("outside")}
	w.setUp()
	over := false
	w.outside.Go(func() {
		w.drive()
		w.finish()
		over = true
	})
	if !s.Run(func() bool { return over || s.steps > maxSteps }) || !over {
		s.Fail("a run comes to its end", "after %d steps", s.steps)
	}
	return s.failure, s.sum.Sum64()
}

// maxSteps is far more than any run takes that does not go round in circles.
const maxSteps = 20_000

// setUp chooses the tools and how the servers are configured.
func (w *world) setUp() {
	all := AllTraits()
	traits := make([]Traits, 0, 6)
	for range 1 + w.choices.Choose(Script, 6) {
		i := w.choices.Choose(Script, len(all))
		traits = append(traits, all[i])
		all = append(all[:i:i], all[i+1:]...)
	}
	w.tools = NewToolbox(w.s, w.coverage, traits)
	w.tools.Flaky = w.choices.Rarely(Script, 8)
	w.model = newModel(w.s, w.tools)
	w.model.optimistic = w.cfg.Optimistic
	w.tools.Entered, w.tools.Kept, w.tools.Answered = w.model.entered, w.model.kept, w.model.answered
	w.disk.Committed = w.model.committed
	w.disk.Claimed = w.model.claimed
	w.disk.Pauses = w.choices.Choose(Script, 2) == 1
	w.inline = w.choices.Choose(Script, 3) != 2
	w.hold = w.choices.Rarely(Script, 4)
	w.limits = task.Limits{Turns: Pick(w.choices, Script, 8, 2, 1), ToolTimeout: 200 * time.Millisecond, ToolGrace: 20 * time.Millisecond}
	if w.choices.Choose(Script, 2) == 0 {
		w.limits.TurnsPerCaller = w.limits.Turns
	}
	if w.choices.Rarely(Script, 4) {
		w.limits.Queue = 1 + w.choices.Choose(Script, 3)
		w.limits.QueuePerCaller = 1 + w.choices.Choose(Script, 2)
	}
	w.limits.HeldTime = time.Duration(50+w.choices.Choose(Script, 500)) * time.Millisecond
	if w.choices.Rarely(Script, 4) {
		w.limits.Held = 1 + w.choices.Choose(Script, 3)
		w.limits.HeldPerCaller = 1 + w.choices.Choose(Script, 2)
	}
	w.limits = w.limits.WithDefaults()
	w.model.heldTime = w.limits.HeldTime
	terms := approval.Terms{}
	if w.choices.Rarely(Script, 3) {
		terms.Expires = time.Duration(10+w.choices.Choose(Script, 300)) * time.Millisecond
		terms.OnExpiry = Pick(w.choices, Script, approval.ExpiryRejects, approval.ExpiryKeeps, approval.ExpiryCancels)
		terms.Destructive = terms.OnExpiry == approval.ExpiryKeeps // not another choice: the tapes stay what they are
		w.coverage.Count("expiry: " + string(terms.OnExpiry))
	}
	w.pushes = w.choices.Rarely(Script, 4)
	if besides(w, 4) == 3 {
		terms.People = 2
	}
	reminds(w, &terms)
	w.terms, w.gates, w.grants = terms, gateSet{people: terms.People}, &approval.GrantTerms{Scopes: approval.GrantScopes()}
	if w.hold { // not another choice
		w.grants.Uses = 2
	}
	w.s.Note("tools %v, flaky %v, pauses %v, inline %v, hold %v, pushes %v, turns %d, %d of a caller, queue %d, %d of a caller, terms %+v", traits, w.tools.Flaky, w.disk.Pauses, w.inline, w.hold, w.pushes,
		w.limits.Turns, w.limits.TurnsPerCaller, w.limits.Queue, w.limits.QueuePerCaller, terms)
}

// newID counts, so that a run is the same again. The first bits are a time, as in all
// ids of tasks.
func (w *world) newID() store.TaskID {
	w.ids++
	var id store.TaskID
	id[0], id[6], id[8] = 1, 0x70, 0x80
	for i := range 6 {
		id[15-i] = byte(w.ids >> (8 * i))
	}
	return id
}

// start starts a server.
func (w *world) start() *server {
	w.started++
	w.orphans = false
	p := w.s.Process(fmt.Sprint("p", w.started))
	v := &server{p: p}
	h := w.disk.Handle(p)
	cfg := engine.Config{
		Store:     h,
		Tools:     w.tools.Registry(p),
		Planner:   plannerOf(w, p),
		Presenter: dialect.New(dialect.Config{Keywords: true, NewID: func() string { return w.newID().String() }}),
		Policy:    w.gates.policy(w.terms, w.grants, w.tools.traits), HoldSiblings: w.hold,
		Limits: w.limits,
		Log:    zerolog.New(&logWatch{w: w, p: p}).Level(zerolog.WarnLevel),
		Now:    p.Now,
		NewID:  w.newID,

		CrashPoint: w.mayDie(v),
	}
	if w.pushes {
		cfg.Push = plain{}
	}
	w.model.gates[p] = []gateSet{w.gates}
	var err error
	if v.engine, err = w.cfg.New(cfg, p); err != nil {
		panic(err)
	}
	w.servers = append(w.servers, v)
	p.Go(func() {
		err := v.engine.Run(context.Background())
		v.ran = true
		if err != nil {
			w.s.Fail("an engine continues", "Run() of %s = %v", p.name, err)
		}
	})
	if w.pushes {
		w.deliver(v, h)
	}
	w.s.Note("%s starts", p.name)
	awaitSettled(w, v)
	return v
}

// mayDie returns a hook; a server dies now and then at its points.
func (w *world) mayDie(v *server) func(point string) {
	return func(point string) {
		odds := 150
		if point == "task.answered" { // rare, as few calls are held
			odds = 15
		}
		if !w.finishing && v.p.within() && w.choices.Rarely(Faults, odds) {
			w.coverage.Count("death at " + point)
			w.kill(v)
		}
	}
}

// kill kills a server without notice. Its queued batches are lost, or some of them are not.
func (w *world) kill(v *server) {
	w.gone(v)
	if n := w.disk.Queued(v.p); n > 0 {
		if n = w.choices.Choose(Faults, n+1); n > 0 {
			w.coverage.Count("fault: a commit is durable, its answer is lost")
			w.disk.CommitLost(v.p, n)
		}
		if w.disk.Queued(v.p) > 0 {
			w.coverage.Count("fault: queued commits are lost")
		}
	}
	w.coverage.Count("fault: process death")
	v.p.Kill()
}

// gone takes a server out of the servers that clients use.
func (w *world) gone(v *server) {
	w.orphans = true
	w.servers = slices.DeleteFunc(slices.Clone(w.servers), func(o *server) bool { return o == v })
}

// server returns the server that clients use: the newest, rarely an older server. If there is
// none, it starts a server.
func (w *world) server() *server {
	n := len(w.servers)
	if n == 0 {
		return w.start()
	}
	if n > 1 && w.choices.Rarely(Script, 3) {
		return w.servers[0]
	}
	return w.servers[n-1]
}

// logWatch fails the run when an engine logs an error, which is a bug, or a fault that the
// simulation does not have.
type logWatch struct {
	w *world
	p *Process
}

func (l *logWatch) Write(line []byte) (int, error) {
	var entry struct{ Level, Message, Error, Panic, Stack string }
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&entry); err != nil {
		return len(line), nil //nolint:nilerr // it has a field of another type, and is no error of ours
	}
	switch {
	case l.p.dead:
		return len(line), nil
	case entry.Message == "tool panicked", entry.Message == engine.UnknownOutcome, entry.Message == rules.GateFailed:
		return len(line), nil // the world does this to them
	}
	l.w.s.Note("%s logs %s: %s: %s", l.p.name, entry.Level, entry.Message, entry.Error)
	if entry.Level == "error" {
		l.w.s.Fail("an engine logs no errors", "%s: %s%s %s", entry.Message, entry.Error, entry.Panic, entry.Stack)
	}
	return len(line), nil
}

// log prints the log of a task, to explain a failure.
func (w *world) log(t *modelTask) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "phase %d state %s rev %d fence %d, %d claims\n", t.phase, t.state, t.rev, t.fence, t.claims)
	for _, e := range t.private {
		fmt.Fprintf(&b, "%4d %s %.200s\n", e.Seq, e.Kind, e.Data)
	}
	for _, e := range t.public {
		fmt.Fprintf(&b, "%4d public %s %.160s\n", e.Seq, e.Kind, e.Data)
	}
	return b.String()
}

// messageTo returns a user's message to a task.
func (w *world) messageTo(t *modelTask, parts ...*a2a.Part) *a2a.Message {
	m := w.message(parts...)
	m.TaskID = a2a.TaskID(t.id.String())
	return m
}

// message returns a user's message with an id of its own.
func (w *world) message(parts ...*a2a.Part) *a2a.Message {
	w.messages++
	return &a2a.Message{ID: fmt.Sprint("m", w.messages), Role: a2a.MessageRoleUser, Parts: parts}
}
