package deploy

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// image is the image of a release, unpacked into a folder.
type image struct {
	root, tag          string
	env                []string
	uid, gid           uint32
	command, healthier []string
}

// descriptor names a blob of an OCI layout.
type descriptor struct {
	Digest      string
	Annotations map[string]string
}

// unpack reads the image in a release, and writes its files below root.
func (i *image) unpack(dist string) error {
	found, err := filepath.Glob(filepath.Join(dist, "*_image.tar"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the release has the images %q, %w", found, err)
	}
	archive, err := os.Open(found[0])
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	files := map[string][]byte{}
	if err := eachFile(archive, func(h *tar.Header, data []byte) error {
		files[h.Name] = data
		return nil
	}); err != nil {
		return err
	}
	blob := func(d descriptor) []byte { return files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)] }
	var index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var config struct {
		Config struct {
			User                 string
			Env, Entrypoint, Cmd []string
			Healthcheck          struct{ Test []string }
		} `json:"config"`
	}
	text := files["index.json"]
	for _, into := range []any{&index, &index, &manifest, &config} {
		if err := json.Unmarshal(text, into); err != nil {
			return err
		}
		switch into {
		case &index:
			i.tag = cmp.Or(i.tag, index.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
			text = blob(index.Manifests[0])
		case &manifest:
			text = blob(manifest.Config)
		}
	}
	c := config.Config
	uid, gid, _ := strings.Cut(c.User, ":")
	i.env, i.command, i.healthier = c.Env, slices.Concat(c.Entrypoint, c.Cmd), c.Healthcheck.Test[1:]
	i.uid, i.gid = number(uid), number(gid)
	for _, l := range manifest.Layers {
		zipped, err := gzip.NewReader(bytes.NewReader(blob(l)))
		if err != nil {
			return err
		}
		if err := eachFile(zipped, i.write); err != nil {
			return err
		}
	}
	return nil
}

// eachFile hands over each file of a tar archive.
func eachFile(from io.Reader, do func(h *tar.Header, data []byte) error) error {
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		data := []byte(nil)
		if err == nil {
			data, err = io.ReadAll(r)
		}
		if err == nil {
			err = do(h, data)
		}
		if err != nil {
			return err
		}
	}
}

// write writes a file of a layer.
func (i *image) write(h *tar.Header, data []byte) error {
	to := filepath.Join(i.root, h.Name) //nolint:gosec // our own archive
	err := os.MkdirAll(filepath.Dir(to), 0o755)
	if h.Typeflag == tar.TypeDir {
		err = os.MkdirAll(to, h.FileInfo().Mode())
	} else if err == nil {
		err = os.WriteFile(to, data, h.FileInfo().Mode())
	}
	if err == nil {
		err = os.Chown(to, h.Uid, h.Gid)
	}
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("these tests must be run by root, who alone may make an image by hand: %w", err)
	}
	return err
}

// unpack returns a copy of the image in a folder of the test.
func unpack(t *testing.T, root string) *image {
	t.Helper()
	of, err := made()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", of.root+"/.", root).CombinedOutput(); err != nil {
		t.Fatalf("copy the image: %v\n%s", err, out)
	}
	i := *of
	i.root = root
	return &i
}

// exec returns a command as a container runs it.
func (i *image) exec(command []string, env ...string) *exec.Cmd {
	cmd := &exec.Cmd{Path: command[0], Args: command, Dir: "/", Env: append(i.env[:len(i.env):len(i.env)], env...)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root, Credential: &syscall.Credential{Uid: i.uid, Gid: i.gid, Groups: []uint32{}}}
	return cmd
}

// number returns an id; 0, which is root's, for what is none.
func number(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// An HTTP tool in the image trusts the authorities that public servers have, and one that its
// operator adds.
func TestImageTrusts(t *testing.T) {
	t.Parallel()
	i := unpack(t, chroot(t))
	file := i.root + "/etc/ssl/certs/ca-certificates.crt"
	bundle, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !cert.IsCA {
			t.Errorf("%s is no authority: %v", cert.Subject, err)
		}
		known[cert.Subject.CommonName] = true
	}
	if len(known) < 100 || !known["ISRG Root X1"] {
		t.Errorf("the image has %d authorities, want those of Mozilla", len(known))
	}
	endpoint := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached by TLS") }))
	endpoint.Config.ErrorLog = log.New(io.Discard, "", 0)
	endpoint.StartTLS()
	defer endpoint.Close()
	tools := write(t, i.root, "tools.yaml", "tools:\n- http: fetch\n  description: fetches\n  request: GET "+endpoint.URL+"/\n  networks: [127.0.0.1]\n")
	if err := os.Chown(tools, int(i.uid), int(i.gid)); err != nil {
		t.Fatal(err)
	}
	fetch, alone := []string{i.command[0], "tools", "call", "fetch", "--config", "/tools.yaml"}, "A2A_SERVER_LISTEN=127.0.0.1:0"
	if said, code := run(t, i.exec(fetch, alone)); code != 1 || !strings.Contains(said, "nothing was sent: TLS") {
		t.Errorf("the call of a server of an unknown authority exits with %d:\n%s", code, said)
	}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: endpoint.Certificate().Raw})
	if err := os.WriteFile(file, append(bundle, own...), 0o644); err != nil { //nolint:gosec // as in the image
		t.Fatal(err)
	}
	if said, code := run(t, i.exec(fetch, alone)); code != 0 || !strings.Contains(said, "reached by TLS") {
		t.Errorf("the call exits with %d:\n%s", code, said)
	}
}

// The image has the program, its folder and authorities, and nothing else; in it the server runs as a
// user without rights, says that it is healthy, stops, and continues where it was.
func TestImage(t *testing.T) {
	t.Parallel()
	i := unpack(t, chroot(t))
	if i.uid != 65532 || i.gid != 65532 {
		t.Errorf("the user is %d:%d, want 65532:65532", i.uid, i.gid)
	}
	entries, err := os.ReadDir(i.root)
	if err != nil || len(entries) != 3 {
		t.Errorf("the image has %v, %v, want usr, data and etc", entries, err)
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
		} else if done := send(t, once(), base, approval("m2", asked, ".a1")); done.Status.State != "TASK_STATE_COMPLETED" {
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
