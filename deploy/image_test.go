package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// line is one instruction of the Dockerfile.
type line struct{ does, text string }

// dockerfile returns the instructions of the Dockerfile, those that these tests can carry
// out or check: any other is an error.
func dockerfile() ([]line, error) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		return nil, err
	}
	var all []line
	for l := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		does, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		switch does {
		case "", "#":
		case "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD":
			all = append(all, line{does, rest})
		default:
			return nil, fmt.Errorf("Dockerfile: nothing carries out %s", does)
		}
	}
	return all, nil
}

// image is the second stage, in a folder.
type image struct {
	root               string
	env                []string
	uid, gid           uint32
	command, healthier []string
}

// unpack makes what the second stage says, below a folder.
func unpack(t *testing.T, root string) *image {
	t.Helper()
	out, err := stages()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := dockerfile()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) == 0 || lines[0].text != "golang:"+goVersion(t)+"-bookworm AS build" {
		t.Errorf("the image is built by %s, want the version of go.mod", lines[0].text)
	}
	made := &image{root: root}
	var entry []string
	last := false
	for _, l := range lines {
		switch l.does {
		case "FROM":
			last = l.text == "scratch"
		case "COPY":
			if last {
				made.copy(t, out, strings.Fields(l.text))
			}
		case "ENV":
			made.env = append(made.env, l.text)
		case "USER":
			uid, gid, _ := strings.Cut(l.text, ":")
			made.uid, made.gid = number(t, uid), number(t, gid)
		case "HEALTHCHECK":
			_, command, _ := strings.Cut(l.text, " CMD ")
			made.healthier = list(t, command)
		case "ENTRYPOINT":
			entry = list(t, l.text)
		case "CMD":
			made.command = slices.Concat(entry, list(t, l.text))
		}
	}
	return made
}

// copy is COPY --from=build, which takes everything from /out.
func (i *image) copy(t *testing.T, out string, words []string) {
	t.Helper()
	owner := [2]int{}
	for strings.HasPrefix(words[0], "--") {
		if who, ok := strings.CutPrefix(words[0], "--chown="); ok {
			uid, gid, _ := strings.Cut(who, ":")
			owner = [2]int{int(number(t, uid)), int(number(t, gid))}
		}
		words = words[1:]
	}
	from, ok := strings.CutPrefix(words[0], "/out/")
	if !ok || len(words) != 2 {
		t.Fatalf("COPY %s: these tests know what is in /out", words)
	}
	to := filepath.Join(i.root, words[1])
	if output, err := exec.Command("cp", "-a", filepath.Join(out, from), to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", from, err, output)
	}
	if err := os.Chown(to, owner[0], owner[1]); err != nil {
		t.Fatalf("these tests must be run by root, who alone may make an image by hand: %v", err)
	}
}

// exec returns a command as a container runs it.
func (i *image) exec(command []string, env ...string) *exec.Cmd {
	cmd := &exec.Cmd{Path: command[0], Args: command, Dir: "/", Env: append(i.env[:len(i.env):len(i.env)], env...)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root, Credential: &syscall.Credential{Uid: i.uid, Gid: i.gid, Groups: []uint32{}}}
	return cmd
}

func number(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func list(t *testing.T, text string) []string {
	t.Helper()
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		t.Fatalf("%s: %v: without a shell a command is a list", text, err)
	}
	return words
}

// goVersion returns the version of go.mod without its patch.
func goVersion(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, "../go.mod"), "\ngo ")
	version, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSuffix(version, ".0")
}

// The image has the program and its folder, and nothing else; in it the server runs as a
// user without rights, says that it is healthy, stops, and continues where it was.
func TestImage(t *testing.T) {
	t.Parallel()
	i := unpack(t, chroot(t))
	if i.uid != 65532 || i.gid != 65532 {
		t.Errorf("the user is %d:%d, want 65532:65532", i.uid, i.gid)
	}
	entries, err := os.ReadDir(i.root)
	if err != nil || len(entries) != 2 {
		t.Errorf("the image has %v, %v, want the program and data", entries, err)
	}
	const anyPort = "A2A_SERVER_LISTEN=0.0.0.0:0" // beside what else runs here
	if said, code := run(t, i.exec(i.command, anyPort)); code != 2 || !strings.Contains(said, "insecure_no_auth") {
		t.Errorf("without authentication the image exits with %d, want 2 and what to set:\n%s", code, said)
	}
	var asked task
	for n := range 2 {
		server := start(t, i.exec(i.command, anyPort, "A2A_SERVER_INSECURE_NO_AUTH=true"), `"message":"listening"`)
		port := server.url[strings.LastIndexByte(server.url, ':')+1:]
		if said, code := run(t, i.exec(i.healthier, "A2A_SERVER_LISTEN=0.0.0.0:"+port, "A2A_SERVER_INSECURE_NO_AUTH=true")); code != 0 || said != "ready\n" {
			t.Errorf("the health check exits with %d:\n%s", code, said)
		}
		base := "http://127.0.0.1:" + port
		if n == 0 {
			asked = send(t, once(), base, message("m1", "/transfer_money amount=5 to=bob", nil))
		} else if done := send(t, once(), base, approval("m2", asked)); done.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("after another start the task is %s, want completed", done.Status.State)
		}
		server.stop()
		if said, code := run(t, i.exec(i.healthier, "A2A_SERVER_LISTEN=0.0.0.0:"+port, "A2A_SERVER_INSECURE_NO_AUTH=true")); code != 1 || !strings.Contains(said, "is not ready") {
			t.Errorf("when the server has ended, the health check exits with %d:\n%s", code, said)
		}
	}
	ledger, err := os.Open(filepath.Join(i.root, "data", "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ledger.Close() }()
	if text, err := io.ReadAll(ledger); err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("the ledger has %q, %v, want one transfer", text, err)
	}
}

// chroot returns a folder in which a user without rights may be; those above a test's own
// are closed to others.
func chroot(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "a2a-server-image-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as that of an image
		t.Fatal(err)
	}
	return dir
}
