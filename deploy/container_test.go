package deploy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// host is a machine that runs containers with podman, from the image of a release. See
// testdata/host.sh.
type host struct {
	t   *testing.T
	dir string // where commands run: it has this folder as deploy
	pid string // of its first process
	tag string // of the image
}

func newHost(t *testing.T) *host {
	t.Helper()
	i, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"podman": "podman", "podman-compose": "podman-compose", "runc": "runc", "ip": "iproute2", "iptables": "iptables"} {
		find(t, name, from)
	}
	h := &host{t: t, dir: chroot(t)}
	_, h.tag, _ = strings.Cut(i.tag, ":")
	if err := os.CopyFS(filepath.Join(h.dir, "deploy"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(filepath.Dir(i.root), "dist", "*_image.tar"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("the release has the images %q, %v", archives, err)
	}
	script, err := filepath.Abs("testdata/host.sh")
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", script, h.dir, archives[0]), "ready")
	children, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/task/" + strconv.Itoa(p.cmd.Process.Pid) + "/children")
	if err != nil {
		t.Fatal(err)
	}
	h.pid = strings.TrimSpace(string(children))
	t.Cleanup(func() { _, _ = h.try("podman rm --all --force --time 0; podman pod rm --all --force") })
	return h
}

// try runs commands on the host and returns what they print.
func (h *host) try(commands string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.t.Context()), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", "--target", h.pid, "--net", "--mount", "--pid", "sh", "-euc", `cd "$HOST"; `+commands)
	cmd.Env = []string{
		"PATH=" + filepath.Dir(program(h.t)) + ":/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=" + h.dir, "HOST=" + h.dir, "VERSION=" + h.tag,
		"CONTAINERS_CONF=" + h.dir + "/containers.conf", "CONTAINERS_STORAGE_CONF=" + h.dir + "/storage.conf",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs commands that must succeed.
func (h *host) run(commands string) string {
	h.t.Helper()
	out, err := h.try(commands)
	if err != nil {
		logs, _ := h.try("for c in $(podman ps --all --quiet); do podman logs --tail 5 $c; done")
		h.t.Fatalf("%s: %v\n%s\n%s", commands, err, out, logs)
	}
	return out
}

// works wants of a container's server what its users want: a message is sent to it at url, its call
// asks and is approved, a backup is taken, which makes a store, and the configuration is reloaded.
// inside is the command that runs others in the container; alice.key has a requester's key.
func (h *host) works(inside, url string) {
	h.t.Helper()
	h.run("for i in $(seq 100); do " + inside + " a2a-server health 2>health.log && exit; sleep 0.1; done; cat health.log; exit 1")
	const alice = "export A2A_SERVER_TOKEN=$(cat alice.key); "
	said, _ := h.try(alice + "a2a-server send '/transfer_money amount=250 to=bob' --url " + url)
	asked := regexp.MustCompile(`approvals approve (\S+)\.a1`).FindStringSubmatch(said)
	if asked == nil {
		h.t.Fatalf("send says:\n%s", said)
	}
	h.run("digest=$(" + inside + " a2a-server approvals show -o json " + asked[1] + `.a1 | sed -n 's/.*"digest": "\(.*\)".*/\1/p'); ` +
		inside + " a2a-server approvals approve " + asked[1] + ".a1 --yes --digest $digest")
	h.run(alice + "for i in $(seq 100); do a2a-server tasks show " + asked[1] + " --url " + url + " >task; grep -q completed task && exit; sleep 0.1; done; cat task; exit 1")
	h.run("umask 077; rm -rf backup restored; " + inside + " a2a-server store backup - >backup; a2a-server store restore backup --data restored")
	if said := h.run(inside + " a2a-server reload"); !strings.Contains(said, "the configuration was reloaded\n") {
		h.t.Errorf("reload says:\n%s", said)
	}
}

// The Compose file is started as it is shipped, by its own commands.
func TestComposeStarts(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	const compose = "podman-compose -f deploy/compose.yaml "
	h.run(compose + "run --rm -T a2a-server keys add alice --role requester 2>log | grep -o 'a2ak_.*' >alice.key || { cat log; exit 1; }; " + compose + "up -d")
	const exec = "podman exec deploy_a2a-server_1"
	h.works(exec, "http://127.0.0.1:8080")
	const check = compose + "run --rm -T --no-deps a2a-server config check "
	if said, err := h.try(exec + " a2a-server config check; " + check + "--admin-socket /none/s"); err != nil || !strings.Contains(said, "the configuration is valid, as far as is known here\n") || !strings.Contains(said, "the folder of admin.socket: stat /none: no such file") || !strings.Contains(said, "exit code: 2") { // which podman-compose 1.0 prints, and does not pass on
		t.Errorf("config check beside the server, and of a folder that the image lacks: %v\n%s", err, said)
	}
	// A file that an editor has replaced is read.
	if said := h.run("sed -i 's/agent.example.com/agent.example.org/' deploy/container.yaml; " + exec + " a2a-server reload"); !strings.Contains(said, "these keys need a restart: public_url\n") {
		t.Errorf("reload after a change says:\n%s", said)
	}
	if said, err := h.try("echo 'tool: []' >>deploy/container.yaml; " + exec + " a2a-server reload"); err == nil || !strings.Contains(said, "there is no such key") {
		t.Errorf("reload of what is no configuration: %v\n%s", err, said)
	}
}

// The pod is started as Podman reads the manifests, with their files as the kubelet mounts them. Podman
// knows neither fsGroup nor defaultMode, and does not decode the values of a Secret.
func TestKubernetesStarts(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m := kubernetes(t)
	text := replace(t, read(t, "kubernetes.yaml"), "image: a2a-server:latest", "image: a2a-server:"+h.tag, "defaultMode: 0440", "defaultMode: 0440\n            optional: false")
	write(t, h.dir, "pod.yaml", text+"---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: a2a-server-keys\ndata: {keys.yaml: '', metrics.token: ''}\n")
	h.run("a2a-server keys add alice --role requester --file keys.yaml 2>log >alice.key; openssl rand -hex 32 >metrics.token; podman kube play pod.yaml")
	pod := m.deployment.Spec.Template.Spec
	h.run(fmt.Sprintf(`data=$(podman volume inspect -f '{{.Mountpoint}}' %s) keys=$(podman volume inspect -f '{{.Mountpoint}}' %s)
		chown 0:%[3]d $data; chmod 2775 $data; install -g %[3]d -m %[4]o keys.yaml metrics.token $keys/`, m.claim.Name, pod.Volumes[2].Secret.SecretName, *pod.SecurityContext.FSGroup, *pod.Volumes[2].Secret.DefaultMode))
	h.works("podman exec a2a-server-pod-0-a2a-server", "http://127.0.0.1:8080")
	if said := h.run("curl -s http://127.0.0.1:9464/metrics; curl -s -H \"Authorization: Bearer $(cat metrics.token)\" http://127.0.0.1:9464/metrics | grep -v '#'"); strings.Count(said, "\na2a_server_store_last_backup_timestamp_seconds ") != 1 {
		t.Errorf("without and with their token the metrics are:\n%s", said)
	}
}
