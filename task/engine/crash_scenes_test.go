package engine_test

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
)

// chunks is how many a stream has.
const chunks = 400

// scene is what one client of the crash suite wants: one message, and what is to
// become of the task that it makes.
type scene struct {
	name  string
	tools []string // one call of each

	verb    approval.Verb // on what is asked; "": nobody decides
	outcome approval.Verb // on calls whose result is unknown
	api     bool          // decides through Decide, not with messages
	leave   bool          // the first process dies while it is parked, or its tool holds
	hold    bool          // its first tool holds in the first process
	early   bool          // decided while its first tool holds
	cancel  bool          // canceled as soon as it is parked or its tool holds
	repeat  bool          // each message is sent twice

	want a2a.TaskState  // when nothing was unknown on the way
	runs map[string]int // by tool, when nothing was unknown on the way
}

// crashGates give some tools a deadline.
var crashGates = []approval.Gate{
	{Tool: "deadline", Terms: approval.Terms{Expires: 30 * time.Millisecond}},
	{Tool: "deadline_late", Terms: approval.Terms{Expires: 300 * time.Millisecond}},
	{Tool: "deadline_keep", Terms: approval.Terms{Expires: 20 * time.Millisecond, OnExpiry: approval.ExpiryKeeps}},
	{Tool: "deadline_cancel", Terms: approval.Terms{Expires: 20 * time.Millisecond, OnExpiry: approval.ExpiryCancels}},
}

const (
	completed = a2a.TaskStateCompleted
	canceled  = a2a.TaskStateCanceled
)

// scenes are played in every process of the crash suite. All that hold come
// through: there are more turns than scenes that hold.
var scenes = []scene{
	{name: "write", tools: []string{"write"}, outcome: approval.Approve, want: completed, runs: map[string]int{"write": 1}},
	{name: "write twice", tools: []string{"write"}, outcome: approval.Respond, repeat: true, want: completed, runs: map[string]int{"write": 1}},
	{name: "echo", tools: []string{"echo"}, want: completed},
	{name: "echo twice", tools: []string{"echo"}, repeat: true, want: completed},
	{name: "approve", tools: []string{"transfer"}, verb: approval.Approve, outcome: approval.Approve, want: completed, runs: map[string]int{"transfer": 1}},
	{name: "approve twice", tools: []string{"transfer"}, verb: approval.Approve, outcome: approval.Reject, repeat: true, want: completed, runs: map[string]int{"transfer": 1}},
	{name: "approve by api", tools: []string{"transfer"}, verb: approval.Approve, outcome: approval.Respond, api: true, want: completed, runs: map[string]int{"transfer": 1}},
	{name: "reject", tools: []string{"transfer"}, verb: approval.Reject, want: canceled, runs: map[string]int{"transfer": 0}},
	{name: "edit", tools: []string{"transfer"}, verb: approval.Edit, outcome: approval.Approve, want: completed, runs: map[string]int{"transfer": 1}},
	{name: "edit by api", tools: []string{"transfer"}, verb: approval.Edit, outcome: approval.Reject, api: true, want: completed, runs: map[string]int{"transfer": 1}},
	{name: "pair", tools: []string{"transfer", "transfer"}, verb: approval.Approve, outcome: approval.Approve, want: completed, runs: map[string]int{"transfer": 2}},
	{name: "mixed", tools: []string{"write", "transfer", "echo"}, verb: approval.Approve, outcome: approval.Respond, want: completed, runs: map[string]int{"write": 1, "transfer": 1}},
	{name: "early", tools: []string{"write", "transfer"}, verb: approval.Approve, outcome: approval.Approve, hold: true, early: true, want: completed, runs: map[string]int{"write": 1, "transfer": 1}},
	{name: "early by api", tools: []string{"again", "transfer"}, verb: approval.Reject, outcome: approval.Approve, hold: true, early: true, api: true, want: completed, runs: map[string]int{"transfer": 0}},
	{name: "confirm", tools: []string{"confirm"}, verb: approval.Approve, outcome: approval.Approve, want: completed, runs: map[string]int{"confirm": 1}},
	{name: "confirm not", tools: []string{"confirm"}, verb: approval.Reject, outcome: approval.Reject, want: canceled, runs: map[string]int{"confirm": 0}},
	{name: "question", tools: []string{"question"}, verb: approval.Respond, outcome: approval.Approve, want: completed, runs: map[string]int{"question": 2}},
	{name: "held", tools: []string{"held"}, verb: approval.Respond, outcome: approval.Approve, want: completed, runs: map[string]int{"held": 1}},
	{name: "held by api", tools: []string{"held"}, verb: approval.Reject, outcome: approval.Reject, api: true, want: completed, runs: map[string]int{"held": 1}},
	{name: "held, canceled", tools: []string{"held"}, outcome: approval.Reject, cancel: true, want: canceled, runs: map[string]int{"held": 1}},
	{name: "held safe", tools: []string{"held_safe"}, verb: approval.Respond, want: completed},
	{name: "nap", tools: []string{"nap"}, outcome: approval.Approve, want: completed, runs: map[string]int{"nap": 2}},
	{name: "stream", tools: []string{"stream"}, want: completed},
	{name: "job", tools: []string{"job"}, outcome: approval.Approve, want: completed},
	{name: "job, approved", tools: []string{"charge"}, verb: approval.Approve, outcome: approval.Approve, want: completed},
	{name: "unsure, run again", tools: []string{"unsure"}, outcome: approval.Approve},
	{name: "unsure, respond", tools: []string{"unsure"}, outcome: approval.Respond},
	{name: "unsure, give up", tools: []string{"unsure"}, outcome: approval.Reject},
	{name: "deadline", tools: []string{"deadline"}, want: canceled, runs: map[string]int{"deadline": 0}},
	{name: "deadline cancels", tools: []string{"deadline_cancel", "write"}, runs: map[string]int{"deadline_cancel": 0}, want: canceled},
	{name: "cancel parked", tools: []string{"transfer"}, cancel: true, want: canceled, runs: map[string]int{"transfer": 0}},
	{name: "cancel running", tools: []string{"write"}, outcome: approval.Reject, hold: true, cancel: true},
	{name: "cancel remote", tools: []string{"remote"}, outcome: approval.Reject, cancel: true, want: canceled, runs: map[string]int{"remote": 1}},

	{name: "parked", tools: []string{"transfer"}, verb: approval.Approve, outcome: approval.Approve, leave: true, want: completed, runs: map[string]int{"transfer": 1}},
	{name: "parked, then edit", tools: []string{"transfer"}, verb: approval.Edit, outcome: approval.Respond, leave: true, want: completed, runs: map[string]int{"transfer": 1}},
	{name: "parked confirm", tools: []string{"confirm"}, verb: approval.Approve, outcome: approval.Reject, leave: true, want: completed, runs: map[string]int{"confirm": 1}},
	{name: "parked question", tools: []string{"question"}, verb: approval.Respond, outcome: approval.Respond, leave: true, want: completed, runs: map[string]int{"question": 2}},
	{name: "parked sleep", tools: []string{"sleep"}, outcome: approval.Approve, leave: true, want: completed, runs: map[string]int{"sleep": 2}},
	{name: "parked deadline", tools: []string{"deadline_late"}, leave: true, want: canceled, runs: map[string]int{"deadline_late": 0}},
	{name: "parked keep", tools: []string{"deadline_keep"}, verb: approval.Approve, outcome: approval.Approve, leave: true, want: completed, runs: map[string]int{"deadline_keep": 1}},

	{name: "running, run again", tools: []string{"write"}, outcome: approval.Approve, leave: true, hold: true},
	{name: "running, respond", tools: []string{"write"}, outcome: approval.Respond, leave: true, hold: true},
	{name: "running, give up", tools: []string{"write"}, outcome: approval.Reject, leave: true, hold: true},
	{name: "running approved", tools: []string{"transfer"}, verb: approval.Approve, outcome: approval.Approve, leave: true, hold: true},
	{name: "left held, run again", tools: []string{"held"}, verb: approval.Respond, outcome: approval.Approve, leave: true},
	{name: "left held, respond", tools: []string{"held"}, verb: approval.Respond, outcome: approval.Respond, leave: true},
	{name: "left held safe", tools: []string{"held_safe"}, verb: approval.Reject, leave: true, want: completed},
	{name: "running idempotent", tools: []string{"again"}, leave: true, hold: true, want: completed},
	{name: "running idempotent, approved", tools: []string{"pay"}, verb: approval.Approve, leave: true, hold: true, want: completed},
	{name: "running job", tools: []string{"job"}, outcome: approval.Approve, leave: true, hold: true, want: completed},
	{name: "running job, approved", tools: []string{"charge"}, verb: approval.Approve, outcome: approval.Approve, leave: true, hold: true, want: completed},
	{name: "running stream", tools: []string{"stream"}, leave: true, hold: true, want: completed},
}

// args are those of every call of the scene.
func (s *scene) args() map[string]any {
	a := map[string]any{"key": s.name, "amount": 1}
	if s.hold {
		a["hold"] = true
	}
	return a
}

// edited are the arguments that an edit puts in their place.
func (s *scene) edited() map[string]any {
	a := s.args()
	a["amount"] = 99
	return a
}

// message is the same in every process.
func (s *scene) message() *a2a.Message {
	var parts []*a2a.Part
	for _, name := range s.tools {
		parts = append(parts, a2a.NewDataPart(map[string]any{"tool": name, "args": s.args()}))
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	m.ID = "message of " + s.name
	return m
}
