package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"a2a-server/a2aservertest"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

type secret struct {
	Text string `json:"text"`
}

// clumsy returns tools that get a secret: one that has to be approved, one that may
// always be called, one whose gate fails and one that does not come back before release.
func clumsy(t *testing.T, release <-chan struct{}) tool.Toolset {
	t.Helper()
	keep := func(_ tool.Context, s secret) (string, error) { return "result " + s.Text, nil }
	guarded := functiontool.Must(functiontool.New(functiontool.Config{Name: "guarded", RequireApproval: true}, keep))
	open := functiontool.Must(functiontool.New(functiontool.Config{Name: "open"}, keep))
	broken := functiontool.Must(functiontool.New(functiontool.Config{
		Name: "broken", Gate: functiontool.Gate(func(agent.ReadonlyContext, secret) (bool, error) {
			return false, errors.New("the list of limits is gone\x1b[31m")
		}),
	}, keep))
	deaf := functiontool.Must(functiontool.New(functiontool.Config{Name: "deaf"}, func(tool.Context, secret) (string, error) {
		<-release
		return "too late", nil
	}))
	return tool.NewToolset("clumsy", guarded, open, broken, deaf)
}

// told returns the lines of a log about tasks, in their order: level, message and what
// they say, without ids and digests, which are not empty.
func told(t *testing.T, l *logs) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, line := range l.lines {
		if _, ok := line["task_id"]; !ok {
			continue
		}
		text := fmt.Sprintf("%s: %s", line["level"], line["message"])
		for _, key := range slices.Sorted(maps.Keys(line)) {
			value := fmt.Sprint(line[key])
			switch key {
			case "level", "message", "time":
				continue
			case "task_id", "approval_id", "digest":
				if value == "" {
					t.Errorf("%s is empty: %v", key, line)
				}
				value = "…"
			}
			text += " " + key + "=" + value
		}
		all = append(all, text)
		if all := fmt.Sprint(line); strings.Contains(all, "hush") || strings.ContainsAny(all, "\x1b\n") {
			t.Errorf("the log tells a secret, or has a control character: %q", all)
		}
	}
	return all
}

// Whoever runs a server reads in its log who has approved what, and what came of it.
func TestLogTellsWhatWasApproved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level zerolog.Level
		do    func(s *a2aservertest.Server)
		want  []string
		set   map[string]string
	}{
		"nobody decided": {zerolog.InfoLevel, func(s *a2aservertest.Server) {
			asked := s.Send("/guarded text=hush")
			s.Advance(time.Hour)
			s.Wait(asked.ID, a2a.TaskStateCanceled)
		}, []string{
			"info: approval asked approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool task_id=… tool=guarded",
			"info: approval ended without a decision approval_id=… call_id=c1.1 digest=… gate=tool state=expired task_id=… tool=guarded via=system",
			"info: call finished approval_id=… call_id=c1.1 outcome=expired task_id=… tool=guarded",
		}, map[string]string{"deadlines.expires": "1h"}},
		"nobody decided in time": {zerolog.InfoLevel, func(s *a2aservertest.Server) {
			asked := s.Send("/guarded text=hush")
			s.Advance(time.Hour)
			for deadline := time.Now().Add(time.Minute); s.Pending(asked)[0].Deadline != nil && time.Now().Before(deadline); {
				continue // it is not announced
			}
			s.Approve(asked)
			s.Wait(asked.ID, a2a.TaskStateCompleted)
		}, []string{
			"info: approval asked approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool task_id=… tool=guarded",
			"info: approval stays pending after its deadline approval_id=… call_id=c1.1 digest=… gate=tool task_id=… tool=guarded",
			"info: approval decided approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool state=approved task_id=… tool=guarded via=api",
			"info: call started approval_id=… call_id=c1.1 digest=… task_id=… tool=guarded",
			"info: call finished approval_id=… call_id=c1.1 outcome=ok task_id=… tool=guarded",
		}, map[string]string{"deadlines.expires": "1h", "deadlines.on_expiry": "keep"}},
		"approved": {zerolog.InfoLevel, func(s *a2aservertest.Server) {
			asked := s.Send("/guarded text=hush")
			s.Approve(asked)
			s.Wait(asked.ID, a2a.TaskStateCompleted)
		}, []string{
			"info: approval asked approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool task_id=… tool=guarded",
			"info: approval decided approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool state=approved task_id=… tool=guarded via=api",
			"info: call started approval_id=… call_id=c1.1 digest=… task_id=… tool=guarded",
			"info: call finished approval_id=… call_id=c1.1 outcome=ok task_id=… tool=guarded",
		}, nil},
		"rejected": {zerolog.InfoLevel, func(s *a2aservertest.Server) {
			asked := s.Send("/guarded text=hush")
			s.Reject(asked, "hush\nhush")
			s.Wait(asked.ID, a2a.TaskStateCanceled)
		}, []string{
			"info: approval asked approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool task_id=… tool=guarded",
			"info: approval decided approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool state=rejected task_id=… tool=guarded via=api",
			"info: call finished approval_id=… call_id=c1.1 outcome=rejected task_id=… tool=guarded",
		}, nil},
		"canceled": {zerolog.InfoLevel, func(s *a2aservertest.Server) {
			asked := s.Send("/guarded text=hush")
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			_ = post(t, client, s.URL+"/tasks/"+string(asked.ID)+":cancel", "{}").Body.Close()
		}, []string{
			"info: approval asked approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool task_id=… tool=guarded",
			"info: task canceled by=anonymous task_id=…",
			"info: approval ended without a decision approval_id=… call_id=c1.1 digest=… gate=tool state=canceled task_id=… tool=guarded via=system",
			"info: call finished approval_id=… call_id=c1.1 outcome=canceled task_id=… tool=guarded",
		}, nil},
		"nobody was asked": {zerolog.InfoLevel, func(s *a2aservertest.Server) { s.Send("/open text=hush") }, nil, nil},
		"nobody was asked, at debug": {zerolog.DebugLevel, func(s *a2aservertest.Server) { s.Send("/open text=hush") }, []string{
			"debug: call started call_id=c1.1 task_id=… tool=open",
			"debug: call finished call_id=c1.1 outcome=ok task_id=… tool=open",
		}, nil},
		"a gate that fails": {zerolog.InfoLevel, func(s *a2aservertest.Server) { s.Send("/broken text=hush") }, []string{
			`error: gate failed, so its call is asked about or denied error=tool broken: the tool's own gate: the list of limits is gone\u001b[31m task_id=…`,
			"info: approval asked approval_id=… by=anonymous call_id=c1.1 digest=… gate=tool task_id=… tool=broken",
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := newLogs(t)
			s := a2aservertest.New(t, testserver.Config{
				Tools: []tool.Toolset{clumsy(t, nil)}, Log: zerolog.New(zerolog.SyncWriter(said)).Level(c.level), Set: c.set,
			}.Must(t))
			c.do(s)
			if err := s.Close(); err != nil { // the log has everything then
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, told(t, said)); diff != "" {
				t.Errorf("the log says something else (-want +got):\n%s", diff)
			}
		})
	}
}

// A call of which nobody knows what came is an error in the log.
func TestLogTellsOfUnknownOutcomes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	come := sync.OnceFunc(func() { close(release) })
	defer come()
	c := load(t, map[string]string{"store": "memory", "limits.tool_timeout": "20ms"})
	c.Tools = []tool.Toolset{clumsy(t, release)}
	in := start(t, c)
	_ = post(t, in.client, in.url+"/message:send", `{"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "/deaf text=hush"}]}}`).Body.Close()
	want := "error: call has an unknown outcome call_id=c1.1 task_id=… tool=deaf"
	until(t, "the log says that", func() bool { return slices.Contains(told(t, in.log), want) })
	come()
	late := func(line string) bool { return strings.HasPrefix(line, "info: call finished late call_id=c1.1 ") }
	until(t, "the log says that the call came back", func() bool { return slices.ContainsFunc(told(t, in.log), late) })
}
