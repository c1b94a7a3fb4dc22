package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
)

func TestElsewhere(t *testing.T) {
	t.Parallel()
	for setting, waits := range map[approval.WaitingState]a2a.TaskState{
		approval.WaitsWorking: a2a.TaskStateWorking, approval.WaitsAuth: a2a.TaskStateAuthRequired, approval.WaitsInput: a2a.TaskStateInputRequired,
	} {
		c, err := config(setting)
		if err != nil {
			t.Fatal(err)
		}
		s := a2aservertest.New(t, c)
		one, two := s.Send("/pay amount=1 to=bob"), s.Send("/pay amount=2 to=eve")
		s.Wait(one.ID, waits)
		s.Wait(two.ID, waits)
		again := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("please"))
		again.TaskID = one.ID
		if got := s.SendMessage(again); got.Status.State != waits {
			t.Errorf("what the client says makes the task %s, want %s", got.Status.State, waits)
		}
		lines := make(chan string, 3)
		for _, line := range []string{"approve " + string(one.ID) + ".a1", "reject " + string(two.ID) + ".a1", "approve nothing"} {
			lines <- line
		}
		close(lines)
		var out strings.Builder
		if err := desk(t.Context(), s.Approvals(), auth.Anonymous(), lines, &out); err != nil {
			t.Fatal(err)
		}
		s.Wait(one.ID, a2a.TaskStateCompleted)
		s.Wait(two.ID, a2a.TaskStateCanceled)
		hint := ".a1 May the tool \"pay\" run with these arguments? "
		want := fmt.Sprintf("%s%s{\"amount\":1,\"to\":\"bob\"}\n%s%s{\"amount\":2,\"to\":\"eve\"}\ndone\ndone\n%v\n", one.ID, hint, two.ID, hint, approval.Unknown("nothing", nil))
		if got := out.String(); got != want {
			t.Errorf("the desk says %q, want %q", got, want)
		}
	}
}
