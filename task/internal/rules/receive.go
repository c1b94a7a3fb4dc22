package rules

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/view"
)

// ErrDuplicate means that a follow-up has been received before. It is an [ErrNoChange].
var ErrDuplicate error = duplicate{}

type duplicate struct{}

func (duplicate) Error() string { return "the message has been received before" }

func (duplicate) Is(target error) bool { return target == ErrNoChange }

// FollowUp is the [Input] with a message to an existing task: decisions, an answer to the
// planner's question, or something that answers no question.
type FollowUp struct {
	By      auth.Principal
	Message *a2a.Message // must not be changed afterwards
	JSON    []byte       // as [EncodeMessage] returns it
	// Webhook is set together with the effect of the message; nil: none.
	Webhook *SetWebhook
	// Before is set by the rules to the task's last seq before the message.
	Before uint64

	// The message is read only once: a text that was meant for a question must not answer a
	// question that has replaced it since.
	read    bool
	answers []approval.Decision
}

// EncodeMessage returns the JSON of a message.
func EncodeMessage(m *a2a.Message) ([]byte, error) { return event.EncodeMessage(m) }

// MessageHash returns the idempotency key of a message. raw is its JSON from
// [EncodeMessage]: equal messages have equal bytes.
func MessageHash(by auth.Principal, raw []byte) [16]byte {
	var room [512]byte // on the stack: nearly every message fits
	b := room[:0]
	for _, s := range [...]string{by.Tenant, by.Subject} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(append(b, raw...))
	return [16]byte(sum[:16])
}

// inTask returns a message with the ids of the task that it belongs to, and its JSON.
func inTask(m *a2a.Message, raw []byte, v *view.View) (*a2a.Message, json.RawMessage) {
	kept := *m
	kept.TaskID, kept.ContextID = a2a.TaskID(v.TaskID()), v.ContextID()
	return &kept, event.MessageInTask(raw, m, v.IDs())
}

func (in *FollowUp) put(add additions, b basis) (additions, error) {
	in.Before = b.Header.Seq
	if store.Owner(in.By.Tenant, in.By.Subject) != b.Header.Owner { // authenticated again
		return add, task.ErrTaskNotFound
	}
	if in.Webhook == nil {
		return in.receive(add, b)
	}
	err := in.By.May(auth.Push)
	if err == nil {
		add, err = in.receive(add, b)
	}
	if err != nil {
		return add, err
	}
	hook := *in.Webhook
	hook.Webhook.By = in.By
	return setWebhook(add, b, &hook, in.Before)
}

// Decides reports whether the message, once it has been put, holds decisions.
func (in *FollowUp) Decides() bool { return len(in.answers) > 0 }

// receive is put without the webhook.
func (in *FollowUp) receive(add additions, b basis) (additions, error) {
	id := b.Header.Task
	if c := in.Message.ContextID; c != "" && c != b.View.ContextID() {
		return add, task.Invalid("message.contextId", "is not the context of task %s", id)
	}
	hash := MessageHash(in.By, in.JSON)
	if !b.NoIdempotency && b.Seen(hash) {
		return add, ErrDuplicate
	}
	kept, raw := inTask(in.Message, in.JSON, b.View)
	received := &event.MessageReceived{Message: raw, Hash: hex.EncodeToString(hash[:]), By: in.By}
	if !in.read {
		calls, err := b.Presenter.Cancels(kept)
		if err != nil {
			return add, err
		}
		if len(calls) > 0 {
			if err := in.maySend(); err != nil {
				return add, err
			}
			return cancelCalls(add, b, in.By, approval.ViaA2A, calls, received)
		}
		answers, err := b.Presenter.Answers(kept, b.AllApprovals())
		if err != nil {
			return add, err
		}
		in.read, in.answers = true, answers
	}
	wrong, coded := wrongCodes(b.Fold, in.answers)
	waits := b.Header.Phase == store.Parked || b.WaitsMeanwhile()
	state := &task.StateError{Task: id, State: b.View.State(), Ended: Ended(b.Fold)}
	if coded {
		// A code is accepted only where a wrong code could be counted.
		if !waits {
			return add, state
		}
		if err := stores(b, raw); err != nil {
			return add, err
		}
	}
	if len(in.answers) > 0 && len(wrong) == 0 {
		return decide(add, b, Decisions{By: in.By, Via: approval.ViaA2A, List: in.answers}, received)
	}
	if err := in.maySend(); err != nil {
		return add, err
	}
	pending := b.Pending()
	step := b.Step()
	switch {
	case len(pending)+len(b.Waits()) > 0 && !slices.ContainsFunc(pending, func(a *approval.Approval) bool { return !a.Away() }):
		return in.remark(add, b, pending, received)
	case !waits:
		return add, state
	case len(pending) > 0:
		received.WrongCodes = wrong
		if err := add.undecided(b, received, event.ForNobody); err != nil {
			return add, err
		}
		for _, id := range wrong {
			add = putApproval(add, b, b.Approval(id))
		}
		if b.Header.Phase == store.Parked {
			add.phase = store.Parked
		}
		return askMore(add, b, waitingState(b, pending), pending, kept, ""), nil
	case step != nil && step.Ask != nil && !step.Done:
		if !b.Held.IsZero() {
			return add, &HeldError{b.Held}
		}
		if err := add.undecided(b, received, event.ForPlanner); err != nil {
			return add, err
		}
		b.Messages[len(b.Messages)-1].Decoded = kept
		return add, nil
	}
	return add, state // it waits for a timer
}

// maySend returns [task.ErrTaskNotFound] if the sender, as authenticated again, may send no messages.
// A decision is checked as [approval.Approval.Check] says instead.
func (in *FollowUp) maySend() error {
	if in.By.May(auth.Create) != nil {
		return task.ErrTaskNotFound
	}
	return nil
}

// remark keeps a message that came while people other than the client decide about all of pending, or at the
// agents that the task has called. A word that sounds like a decision is refused, unless it is marked as a
// remark: its sender would believe that it counts.
func (in *FollowUp) remark(add additions, b basis, pending []*approval.Approval, received *event.MessageReceived) (additions, error) {
	if word, is := saidWord(in.Message); is {
		var decides *approval.Approval
		var by string
		if len(pending) > 0 {
			decides, by = pending[0], pending[0].Awaited()
		} else {
			w := b.Waits()[0]
			decides, by = &approval.Approval{ID: w.ID}, fmt.Sprintf("%s, at the agent %s,", cmp.Or(w.WaitsFor, "another person"), w.Agent)
		}
		return add, approval.NotAllowed(decides, fmt.Sprintf("%s decides it, not this conversation, so that a word to %s it does not count; the result follows by itself", by, word.Type))
	}
	if b.Header.Phase == store.Parked {
		add.phase = store.Parked
	}
	err := add.undecided(b, received, event.ForRemark)
	return add, err
}

// undecided adds a message that decides nothing, if the log has room for it.
func (add *additions) undecided(b basis, m *event.MessageReceived, reader event.Reader) error {
	if err := stores(b, m.Message); err != nil {
		return err
	}
	return add.message(b, m, reader)
}

// saidWord returns the word of decision that a message is, if it is not marked as a remark.
func saidWord(m *a2a.Message) (w approval.Word, is bool) {
	if m.Metadata[approval.RemarkKey] != nil {
		return approval.Word{}, false
	}
	return approval.ReadWord(textOf(m))
}
