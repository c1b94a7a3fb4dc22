package main

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// A package is installed on a machine with systemd, upgraded with a call that waits, removed, installed again and purged. Configuration, keys and tasks stay
// as long as they should.
func TestDeb(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := treeSource(t)
	program, shared := s.parts(t)
	for _, version := range []string{"v1.0.0-rc.1", "v1.0.0", "v1.0.1"} {
		s.version = version
		if err := s.writeDeb(dir, runtime.GOARCH, append(shared, program)); err != nil {
			t.Fatal(err)
		}
	}
	m := boot(t, dir)
	const (
		ready = "a2a-server health"
		key   = "export A2A_SERVER_URL=http://127.0.0.1:8080 A2A_SERVER_TOKEN=$(cat /etc/a2a-server/first.key); "
		pid   = "systemctl show -P MainPID a2a-server"
		state = "! systemctl is-active a2a-server; ls /etc/a2a-server /var/lib/a2a-server; getent passwd a2a-server"
	)
	said := m.document("Install", "1.0.0~rc.1")
	if !strings.Contains(said, "/etc/a2a-server/first.key") {
		t.Errorf("the installation does not say where the key is:\n%s", said)
	}
	if said := m.run(ready + "; stat -c '%U %a' /etc/a2a-server/keys.yaml /etc/a2a-server/first.key /var/lib/a2a-server/; ps -o user:16= -p $(" + pid + ")"); said != "ready\nroot 600\nroot 600\na2a-server 700\na2a-server\n" {
		t.Errorf("after the installation owners and modes are:\n%s", said)
	}
	m.run("bash -c '. /usr/share/bash-completion/completions/a2a-server && complete -p a2a-server'")

	m.run("sed -i s/agent.example.com/agent.example.org/ /etc/a2a-server/a2a-server.yaml")
	if said := m.document("Another version", "1.0.0"); !strings.Contains(said, "not known here: admin socket") || !strings.HasSuffix(said, "the configuration is valid, as far as is known here\nready\n") {
		t.Errorf("the upgrade says:\n%s", said)
	}
	m.run("grep agent.example.org /etc/a2a-server/a2a-server.yaml; test -s /var/backups/a2a-server/tasks.db")
	before := m.run(pid)
	said, _ = m.try(key + "a2a-server send '/transfer_money amount=250 to=alice'")
	id := regexp.MustCompile(`approvals approve (\S+\.a1)`).FindStringSubmatch(said)
	if id == nil {
		t.Fatalf("send says:\n%s", said)
	}
	m.run("dpkg -i a2a-server_1.0.1_*.deb; " + ready)
	if after := m.run(pid); after == before {
		t.Errorf("after an upgrade the earlier program runs on: process %s", after)
	}
	approve := key + "digest=$(a2a-server approvals show -o json " + id[1] + ` | sed -n 's/.*"digest": "\(.*\)".*/\1/p'); ` +
		"a2a-server approvals approve " + id[1] + " --yes --digest $digest >/dev/null; cat /var/lib/a2a-server/ledger.jsonl"
	if said := m.run(approve); strings.Count(said, `"alice"`) != 1 {
		t.Errorf("after the approval the ledger and the command say:\n%s", said)
	}

	m.run("a2a-server reload --socket /run/a2a-server/admin.sock; systemctl reload a2a-server; a2a-server keys add late --role viewer --tenant acme --file /etc/a2a-server/keys.yaml; ! systemctl reload a2a-server; systemctl restart a2a-server; " + ready)
	m.document("Back up", "")
	if said := m.document("Restore", ""); !strings.HasSuffix(said, "continues.\n") {
		t.Errorf("the restoration says:\n%s", said)
	}
	kept := m.run("dpkg -r a2a-server; " + state)
	for _, name := range []string{"inactive\n", "a2a-server.yaml\n", "first.key\n", "keys.yaml\n", "tasks.db\n", "a2a-server:x:"} {
		if !strings.Contains(kept, name) {
			t.Errorf("after the removal there is no %q:\n%s", name, kept)
		}
	}
	m.run("dpkg -i a2a-server_1.0.1_*.deb; " + ready + "; " + key + "a2a-server tasks list -o json | grep " + strings.TrimSuffix(id[1], ".a1"))
	const gone = "! systemctl list-unit-files 'a2a-server*'; ! ls /etc/a2a-server; ls /var/lib/a2a-server"
	purged := m.run("dpkg -P a2a-server; " + gone)
	for _, want := range []string{"the tasks stay in /var/lib/a2a-server", "0 unit files", "cannot access '/etc/a2a-server'", "tasks.db\n"} {
		if !strings.Contains(purged, want) {
			t.Errorf("after the purge there is no %q:\n%s", want, purged)
		}
	}
	// As in a container, without a running systemd.
	m.run("mv /run/systemd/system /run/systemd/hidden; dpkg -i a2a-server_1.0.1_*.deb; mkdir /run/a2a-server; a2a-server config check --config /etc/a2a-server/a2a-server.yaml; dpkg -P a2a-server")
}

// document runs the commands below a heading of docs/operations.md, with the package of a version.
func (m *machine) document(heading, version string) string {
	m.t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		m.t.Fatal(err)
	}
	_, below, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	_, commands, _ := strings.Cut(below, "```sh\n")
	commands, _, ok := strings.Cut(commands, "```\n")
	if !ok {
		m.t.Fatalf("docs/operations.md has no commands below %q", heading)
	}
	named := regexp.MustCompile(`a2a-server_\S+\.deb`)
	return m.run(named.ReplaceAllString(commands, "a2a-server_"+version+"_"+runtime.GOARCH+".deb"))
}
