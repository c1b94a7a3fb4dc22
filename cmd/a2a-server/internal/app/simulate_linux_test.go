package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// simulated is the output of a simulation without its ids and times.
func simulated(text string) string {
	return regexp.MustCompile(`(task )[-0-9a-f]{36}|\d{4}-\d\d-\d\dT[0-9:]+Z`).ReplaceAllString(text, "$1…")
}

// The calls of the log are judged by other rules, from the server and from a backup, with the
// arguments masked that either policy masks.
func TestPolicySimulate(t *testing.T) {
	t.Parallel()
	c := withFile(t, fmt.Sprintf(`
auth: {socket: [{uid: %d, subject: ann, tenant: acme, roles: [%s]}]}
admin: {own_user_decides: true}
policy: {files: [rules.yaml]}
tools:
  - {command: pay, description: pays, run: [echo, "{to}", "{amount}"], args: {to: {type: string}, amount: {type: number}}, approve: false}
`, os.Getuid(), allRoles))
	c.write("rules.yaml", "gates:\n  - {name: big, tool: pay, when: args.amount > 1000, mask: [/to]}\n  - {name: huge, tool: pay, when: args.amount > 4000, risk: high}\n  - {name: never, tool: pay, when: args.to == \"eve\", action: deny}\n")
	s := serveConfig(t, c)
	s.want(0, "0 planned calls, 0 would change", "policy", "simulate")
	for i, args := range []string{`{\"to\":\"bob\",\"amount\":5}`, `{\"to\":\"bob\",\"amount\":5000}`, `{\"to\":\"eve\",\"amount\":5}`, `{\"to\":\"bob\",\"amount\":700}`, `{\"to\":\"bob\",\"amount\":\"x\"}`} {
		if status, answer := s.send(http.MethodPost, "/message:send", fmt.Sprintf(`{"message":{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":"/pay %s"}]}}`, i, args)); status != http.StatusOK {
			t.Fatalf("%s is answered with %s", args, answer)
		}
	}
	s.want(0, "5 planned calls, 0 would change; listed: 0\nleft out: 1, about which no gate was asked", "policy", "simulate", "--since", "1h")

	c.write("other.yaml", "gates:\n  - {name: some, tool: pay, when: args.amount > 500, mask: [/amount]}\n  - {name: none, tool: pay, when: args.amount > 1000, action: deny}\n")
	const want = `since …: 5 planned calls, 3 would change; listed: 3
  1 allow -> ask
  1 ask -> deny
  1 deny -> allow
left out: 1, about which no gate was asked, or whose tasks cannot be read

allow -> ask: pay {"amount":"•••","to":"•••"}
  c1.1 of task …, …, by anonymous
  then: -
  now: some

deny -> allow: pay {"amount":"•••","to":"•••"}
  c1.1 of task …, …, by anonymous
  then: the details are left out, because a gate of the tool masks them
  now: -

ask -> deny: pay {"amount":"•••","to":"•••"}
  c1.1 of task …, …, by anonymous
  then: big
  now: none
`
	other := []string{"policy", "simulate", "--policy-files", filepath.Join(c.folder, "other.yaml")}
	_, list, _ := s.run(nil, "approvals", "list", "-o", "json", "--anonymous")
	id, digest := regexp.MustCompile(`"id": "([^"]+)"`).FindStringSubmatch(list), regexp.MustCompile(`"digest": "([^"]+)"`).FindStringSubmatch(list)
	if id == nil || digest == nil {
		t.Fatalf("no approval is listed: %s", list)
	}
	s.want(0, "the edited call waits for another approval", "approvals", "edit", id[1], "--args", `{"to":"bob","amount":2000}`, "--yes", "--digest", digest[1], "--anonymous")
	s.want(0, "5 planned calls, 0 would change", "policy", "simulate")
	c.write("two.yaml", "gates:\n  - {name: big, tool: pay, when: args.amount > 1000, mask: [/to], no_text: true}\n  - {name: never, tool: pay, when: args.to == \"eve\", action: deny}\n")
	s.want(0, "1 ask -> ask on other terms", "policy", "simulate", "--policy-files", filepath.Join(c.folder, "two.yaml"))
	code, live, stderr := s.run(nil, other...)
	if diff := cmp.Diff(want, simulated(live)); code != 0 || diff != "" {
		t.Errorf("exit code %d: %s (-want +got)\n%s", code, stderr, diff)
	}
	backup := filepath.Join(c.folder, "store.backup")
	s.want(0, "checksum compared", "store", "backup", backup)
	if code := s.stop(); code != 0 {
		t.Fatalf("the server ends with %d", code)
	}
	code, stored, stderr := s.run(nil, append(other, "--backup", backup)...)
	if diff := cmp.Diff(simulated(live), simulated(stored)); code != 0 || diff != "" {
		t.Errorf("from a backup: exit code %d: %s (-live +stored)\n%s", code, stderr, diff)
	}

	c.write("a2a-server.yaml", "tools: [{command: payment, description: pays, run: [echo]}]\n")
	code, gone, _ := s.run(nil, "policy", "simulate", "--backup", backup)
	if code != 0 || !strings.Contains(gone, "2 allow -> cannot be judged") || !strings.Contains(gone, `now: this caller has no tool "pay"`) {
		t.Errorf("without the tool: exit code %d\n%s", code, gone)
	}
	s.want(1, "there is no socket", "policy", "simulate")
	s.want(1, "no such file", "policy", "simulate", "--backup", backup+".none")
	s.want(1, "is no backup of this program", "policy", "simulate", "--backup", filepath.Join(c.folder, "other.yaml"))
	for _, since := range []string{"7", "0d", "-1h", "70000d", "1w"} {
		s.want(2, "write days such as 7d, or a duration such as 12h", "policy", "simulate", "--since", since)
	}
}
