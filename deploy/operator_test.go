package deploy

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The whole of it: the image's files in a chroot, as their user, with Caddy in front; the server is stopped, its program replaced, and started
// again, while Caddy runs on. What was asked before is decided after, by way of Caddy.
func TestOperator(t *testing.T) {
	t.Parallel()
	i := unpack(t, chroot(t))
	dir, listen, address := chroot(t), free(t), free(t)
	client := certify(t, dir, listen)
	settings := []string{"A2A_SERVER_LISTEN=" + address, "A2A_SERVER_PUBLIC_URL=" + public, "A2A_SERVER_AUTH_KEYS_FILE=/data/keys.yaml"}
	key, err := i.exec([]string{i.command[0], "keys", "add", "alice", "--role", "requester", "--file", "/data/keys.yaml"}).Output()
	if err != nil {
		t.Fatal(err)
	}
	stranger := *client
	client.Transport = withKey{client.Transport, strings.TrimSpace(string(key))}
	server := start(t, i.exec(i.command, settings...), `"message":"listening"`)
	caddy(t, dir, listen, server.url)
	checkCard(t, client)
	asked := send(t, client, public, message("before", "/transfer_money amount=7 to=eve", nil))
	if status, answer := call(t, &stranger, http.MethodGet, public+"/tasks", nil); status != http.StatusUnauthorized {
		t.Errorf("without a key the server answers %d %s, want 401", status, answer)
	}
	server.stop()
	if status, answer := call(t, client, http.MethodGet, public+"/tasks/"+asked.ID, nil); status != http.StatusBadGateway {
		t.Errorf("while the server is stopped, the proxy answers %d %s, want 502", status, answer)
	}
	upgraded := filepath.Join(i.root, "usr", "bin", "a2a-server")
	if out, err := exec.Command("install", "-m", "0755", program(t), upgraded).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	again := start(t, i.exec(i.command, settings...), `"message":"listening"`)
	if said, code := run(t, i.exec(i.healthier, settings...)); code != 0 || strings.TrimSpace(said) != "ready" {
		t.Errorf("the health check exits with %d: %s", code, said)
	}
	if done := send(t, client, public, approval("after", asked, ".a1")); done.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("after the upgrade the task is %s, want completed", done.Status.State)
	}
	checkStream(t, client)
	again.stop()
}
