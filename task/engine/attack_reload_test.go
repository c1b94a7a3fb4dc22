package engine_test

import (
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/tool"
)

// After Reload has returned no call starts that the new policy denies: a batch that was made under the old
// policy and waits for the disk, or is written again after a fault of it, enters no tool. Engine.Reload: "an
// approved call is checked against the new policy before it starts".
func TestAttackStartThatWaitsForTheDiskDuringAReload(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a new task", "an approved call"} {
		t.Run(name, func(t *testing.T) {
			onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
				w.start()
				var id a2a.TaskID
				of := "write"
				if name == "an approved call" {
					of = "transfer"
					id = w.begin(w.calls(of, args{"amount": 1, "to": "x"}))
					synctest.Wait()
				}
				d.hold()
				if id == "" {
					go func() { w.begin(w.calls(of, args{"amount": 1, "to": "x"})) }()
				} else {
					one := w.onlyOne(id).ID
					go func() {
						if err := w.decide(alice, id, approval.Decision{ID: one, Type: approval.Approve}); err != nil {
							t.Error(err)
						}
					}()
				}
				synctest.Wait()
				w.engine.Reload(tool.NewRegistry(tool.NewToolset("test", w.tools.all()...)), policy(t, approval.Gate{Tool: "*", Action: approval.ActionDeny}), nil)
				d.drain()
				w.wantRuns(of, 0)
			})
		})
	}
}
