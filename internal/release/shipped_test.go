package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The unit, nginx and Caddy are started by systemd with the files of deploy/ as they are shipped,
// from the commands of docs/operations.md. By way of each proxy a message is sent, whose call is
// approved; a backup is taken, and the configuration reloaded. Caddy alone gets a line more: its
// certificates cannot come from the internet.
func TestShipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, _ := treeSource(t).parts(t)
	if err := os.WriteFile(filepath.Join(dir, "a2a-server"), program.data, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	m := boot(t, dir)
	if said := m.document("Install without the package", ""); !strings.Contains(said, "not known here: admin socket") || !strings.Contains(said, "the configuration is valid, as far as is known here\n") || !strings.HasSuffix(said, "ready\n") {
		t.Errorf("the installation says:\n%s", said)
	}
	if said := m.run("ps -o user:16= -p $(systemctl show -P MainPID a2a-server)"); said != "a2a-server\n" {
		t.Errorf("the server runs as %q, want the unit's user", said)
	}
	m.run(`echo 127.0.0.1 agent.example.com >>/etc/hosts
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 9 -subj /CN=agent.example.com -addext subjectAltName=DNS:agent.example.com \
			-keyout /etc/ssl/private/agent.example.com.key -out /etc/ssl/certs/agent.example.com.pem
		install -m 0644 deploy/nginx.conf /etc/nginx/sites-available/a2a-server
		rm -f /etc/nginx/sites-enabled/*; ln -s ../sites-available/a2a-server /etc/nginx/sites-enabled/a2a-server
		systemctl start nginx`)
	m.works("/etc/ssl/certs/agent.example.com.pem", "bob")
	m.run(`systemctl stop nginx; { printf '{\nlocal_certs\nskip_install_trust\n}\n'; cat deploy/Caddyfile; } >/etc/caddy/Caddyfile; systemctl start caddy`)
	m.works("/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt", "eve")
}

// works wants of the unit what its users want, at the URL of the proxy, which an authority certifies: of a
// transfer that nobody has asked for before.
func (m *machine) works(authority, to string) {
	m.t.Helper()
	const alice = "export A2A_SERVER_URL=https://agent.example.com A2A_SERVER_TOKEN=$(cat alice.key); "
	trusted := "export SSL_CERT_FILE=" + authority + "; "
	m.run(trusted + "for i in $(seq 100); do curl -fs --cacert $SSL_CERT_FILE https://agent.example.com/readyz && exit; sleep 0.1; done; exit 1")
	said, _ := m.try(trusted + alice + "a2a-server send '/transfer_money amount=250 to=" + to + "'")
	asked := regexp.MustCompile(`approvals approve (\S+)\.a1`).FindStringSubmatch(said)
	if asked == nil {
		m.t.Fatalf("send says:\n%s", said)
	}
	const socket = " --socket /run/a2a-server/admin.sock"
	said = m.run("digest=$(a2a-server approvals show -o json " + asked[1] + ".a1" + socket + ` | sed -n 's/.*"digest": "\(.*\)".*/\1/p' | head -n 1) # others are of earlier calls
		a2a-server approvals approve ` + asked[1] + ".a1 --yes --digest $digest" + socket + "\n" + trusted + alice +
		"for i in $(seq 100); do a2a-server tasks show " + asked[1] + " | grep -q completed && break; sleep 0.1; done; a2a-server tasks show " + asked[1] +
		"\na2a-server store backup - " + socket + " >backup; rm -rf restored; a2a-server store restore backup --data restored; a2a-server reload" + socket)
	if !strings.Contains(said, "completed") || !strings.HasSuffix(said, "the configuration was reloaded\n") {
		m.t.Errorf("the decision, the backup and the reload say:\n%s", said)
	}
}
