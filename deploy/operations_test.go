package deploy

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// supervisor stands for systemd and its journal, with the files of the unit in $ROOT.
const supervisor = `
set -eu
export A2A_SERVER_LISTEN=$LISTEN A2A_SERVER_ADMIN_SOCKET=$ROOT/run/a2a-server/admin.sock
export PATH="$ROOT/usr/local/bin:$PATH" # the shell, like systemd, finds the program there
user=61184 # one of those that DynamicUser takes
unit() { sed -n "s/^$1=//p" "$ROOT/etc/systemd/system/a2a-server.service" | sed "s,/etc/,$ROOT&,g"; }
systemctl() {
	case "$1" in
	daemon-reload) ;;
	reload)
		unit ExecReload | while read -r command; do
			command=$(echo "$command" | sed "s,/proc/..MAINPID./root,,") # no namespaces here
			MAINPID=$(cat "$ROOT/pid") CREDENTIALS_DIRECTORY="$ROOT/run" sh -c "${command#+}" || return 1
		done ;;
	stop) kill -TERM "$(cat "$ROOT/pid")"; while kill -0 "$(cat "$ROOT/pid")" 2>/dev/null; do :; done ;;
	start|enable)
		for credential in $(unit LoadCredential); do
			install -o $user -m 0400 "${credential#*:}" "$ROOT/run/${credential%%:*}"
		done
		chown -R $user "$ROOT/var/lib/a2a-server/"
		install -d -o $user "$ROOT/run/a2a-server"
		(
			export A2A_SERVER_DATA="$ROOT/var/lib/a2a-server" CREDENTIALS_DIRECTORY="$ROOT/run"
			eval "exec setpriv --reuid $user --regid $user --clear-groups $(unit ExecStart)" 2>>"$ROOT/journal" >/dev/null
		) &
		echo $! >"$ROOT/pid"
		patience=$(($(date +%s) + 60))
		until a2a-server health 2>/dev/null >/dev/null; do
			[ "$(date +%s)" -lt $patience ] || { cat "$ROOT/journal"; exit 9; }
			kill -0 $! || { cat "$ROOT/journal"; exit 9; }
		done ;;
	esac
}
journalctl() { cat "$ROOT/journal"; }
apt() { install -m 0755 a2a-server "$ROOT/usr/local/bin/a2a-server"; systemctl start a2a-server; } # without the package
`

// machine is a folder with those of a machine that the document names.
type machine struct {
	t            *testing.T
	root, listen string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t, chroot(t), free(t)}
	for _, dir := range []string{"usr/local/bin", "etc/systemd/system", "run/a2a-server", "var/lib/private/a2a-server", "var/backups"} {
		if err := os.MkdirAll(filepath.Join(m.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("private/a2a-server", m.root+"/var/lib/a2a-server"); err != nil { // as with DynamicUser
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", program(t), m.root+"/a2a-server").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.CopyFS(filepath.Join(m.root, "deploy"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = m.try("systemctl stop a2a-server") })
	return m
}

// block returns the commands below a heading of docs/operations.md.
func block(t *testing.T, heading string) string {
	t.Helper()
	pattern := regexp.MustCompile("(?s)\n## " + regexp.QuoteMeta(heading) + "\n(?:[^#]|#[^#])*?\n```sh\n(.*?)```")
	found := pattern.FindStringSubmatch(read(t, "../docs/operations.md"))
	if found == nil {
		t.Fatalf("docs/operations.md has no commands below %q", heading)
	}
	return found[1]
}

// try runs commands of the document.
func (m *machine) try(commands string) (output string, err error) {
	paths := regexp.MustCompile(`/(usr/local/bin|etc|var|run)/`)
	cmd := exec.Command("sh", "-c", supervisor+paths.ReplaceAllString(commands, "$$ROOT/$1/"))
	cmd.Dir = m.root
	cmd.Env = append(os.Environ(), "ROOT="+m.root, "LISTEN="+m.listen)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m *machine) do(heading string) string {
	m.t.Helper()
	out, err := m.try(block(m.t, heading))
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", heading, err, out)
	}
	return out
}

// What docs/operations.md says about installing, upgrading and restoring can be done as it
// says; what was asked before is decided after.
func TestOperations(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	base := "http://" + m.listen
	if said := m.do("Install without the package"); !strings.HasSuffix(said, "the configuration is valid\nready\n") {
		t.Errorf("the installation says %q", said)
	}
	if status, answer := call(t, once(), http.MethodGet, base+"/tasks", nil); status != http.StatusUnauthorized {
		t.Errorf("without a key the server answers %d %s, want 401", status, answer)
	}
	alice := once()
	alice.Transport = withKey{alice.Transport, strings.TrimSpace(read(t, filepath.Join(m.root, "alice.key")))}
	asked := send(t, alice, base, message("m1", "/transfer_money amount=5 to=bob", nil))
	if said := m.do("Another version"); !strings.HasSuffix(said, "the configuration is valid, as far as is known here\nready\n") {
		t.Errorf("the upgrade says %q", said)
	}
	m.do("Back up")
	end := ".a1"
	for _, id := range []string{"m2", "m3"} { // the second one after the backup, which knows nothing of it, is back
		if done := send(t, alice, base, approval(id, asked, end)); done.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("after the upgrade the task is %s, want completed", done.Status.State)
		}
		if id == "m3" {
			break
		}
		said := m.do("Restore")
		again := regexp.MustCompile(regexp.QuoteMeta(asked.ID[len(asked.ID)-8:]) + `(\.a2-\w+)`).FindStringSubmatch(said)
		if again == nil || !strings.HasSuffix(said, "continues.\n") {
			t.Fatalf("the restoration says %q", said)
		}
		end = again[1]
	}
	if said := m.do("Logs"); strings.Count(said, "\n") != 3 {
		t.Errorf("the log has %q, want one line for each of three starts", said)
	}
	if out, err := m.try("systemctl reload a2a-server && a2a-server keys revoke alice --file /etc/a2a-server/keys.yaml 2>/dev/null && ! systemctl reload a2a-server"); err != nil || !strings.Contains(out, "differ") {
		t.Errorf("a reload with another file of keys: %v, %s; want one that fails, as the server would not see it", err, out)
	}
	if out, err := m.try("A2A_SERVER_LISTEN=127.0.0.1:0 a2a-server serve --data /var/lib/a2a-server"); err == nil || !strings.Contains(out, "in use by another process") {
		t.Errorf("a second server on the folder: %v, %s", err, out)
	}
}
