package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	diff "github.com/google/go-cmp/cmp"
)

// An approval is decided in its own task by whoever may, and by no message to another one.
func TestApprovalsOfOthers(t *testing.T) {
	t.Parallel()
	attackEvery(t, func(t *testing.T, w *attacked, b attackBinding) {
		theirs := w.tasks["acme parked"] + ".a1"
		own := w.create(t, w.mallory(), "/transfer_money amount=1 to=me")
		// One that exists nowhere, of the same length.
		nowhere := w.tasks["missing"] + ".a1"
		ask := func(message map[string]any) answered {
			a := w.send(t, w.mallory(), message)
			a.Body = strings.NewReplacer(theirs, "APPROVAL", nowhere, "APPROVAL", w.tasks["acme parked"], "TASK", w.tasks["missing"], "TASK").Replace(a.Body)
			return a
		}
		exists, not := ask(approve("d1", own, theirs)), ask(approve("d2", own, nowhere))
		if d := diff.Diff(not, exists); d != "" || exists.reason() == "" {
			t.Errorf("another's approval in one's own task, compared with one that there is not:\n%s%+v", d, exists)
		}
		for name, id := range map[string]string{"without a task": "", "in no task": w.tasks["missing"]} {
			m := approve("d-"+name, id, theirs)
			if inner, ok := m["message"].(map[string]any); ok && id == "" {
				delete(inner, "taskId")
			}
			if a := w.send(t, w.mallory(), m); strings.Contains(a.Body, victims) || strings.Contains(a.Body, "COMPLETED") {
				t.Errorf("another's approval %s: %+v", name, a)
			}
		}
		// The id of a message is its sender's.
		again := w.send(t, w.mallory(), message("m-/echo text="+victims, "/echo text=mine"))
		if strings.Contains(again.Body, victims+`"`) && !strings.Contains(again.Body, "mine") || strings.Contains(again.Body, w.tasks["acme ended"]) {
			t.Errorf("a message with the id of another's: %+v", again)
		}
	})
}

// While the victim makes tasks, approves them and follows them, an attacker who knows their
// ids from the first moment asks for all of them all the time, and gets the same answer
// each time. Nothing of the victim's is lost or done twice.
func TestAttacksDuringRuns(t *testing.T) {
	t.Parallel()
	const tasks = 5
	for _, b := range attackBindings() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := startAttacked(t)
			mallory, victim := w.mallory(), w.victim()
			missing := map[string]answered{}
			for _, op := range attackOperations() {
				missing[op.name] = b.ask(w, t, mallory, op, w.tasks["missing"])
			}
			known := make(chan string)
			var attackers, owner sync.WaitGroup
			for range 2 {
				attackers.Go(func() {
					var ids []string
					for {
						select {
						case id, ok := <-known:
							if !ok {
								return
							}
							ids = append(ids, id)
						default:
						}
						for _, op := range attackOperations() {
							for _, id := range ids {
								got, want := b.ask(w, t, mallory, op, id), missing[op.name]
								got.Calls, want.Calls = 0, 0 // the victim reads, too
								if d := diff.Diff(want, got); op.ofTask && d != "" || strings.Contains(got.Body, victims) {
									t.Errorf("%s:\n%s%s", op.name, d, got.Body)
								}
							}
						}
						if len(ids) > 3 {
							ids = ids[1:]
						}
					}
				})
			}
			for n := range tasks {
				m := message(fmt.Sprint("during-", n), fmt.Sprint("/transfer_money amount=1 to="+victims, n))
				parked := w.send(t, victim, m)
				found := regexp.MustCompile(`"id":"([0-9a-f-]{36})"`).FindStringSubmatch(parked.Body)
				if found == nil {
					t.Errorf("a task of the victim: %+v", parked)
					break
				}
				for range 2 {
					known <- found[1]
				}
				owner.Go(func() {
					b.ask(w, t, victim, operation("SubscribeToTask"), found[1])
				})
				if a := w.send(t, victim, approve(fmt.Sprint("yes-", n), found[1], found[1]+".a1")); !strings.Contains(a.Body, "TASK_STATE_COMPLETED") {
					t.Errorf("the victim approves: %+v", a)
				}
			}
			close(known)
			attackers.Wait()
			owner.Wait()
			if ledger, err := os.ReadFile(w.ledger); err != nil || strings.Count(string(ledger), "\n") != tasks {
				t.Errorf("the ledger has %s, %v; want %d transfers", ledger, err, tasks)
			}
		})
	}
}
