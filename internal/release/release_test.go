package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const here = "linux/" + runtime.GOARCH

// stamp is that of the tests' releases.
const stamp = "v1.0.0 0123456789abcdef0123456789abcdef01234567 2026-11-27T00:28:13Z"

// treeSource returns the work tree of the tests.
func treeSource(t *testing.T) *source {
	t.Helper()
	s, err := newSource(t.Context(), "../..", stamp)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// parts returns the program and the files that are released with it.
func (s *source) parts(t *testing.T) (file, []file) {
	t.Helper()
	built, err := s.build(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := s.shared(t.Context(), built)
	if err != nil {
		t.Fatal(err)
	}
	return program(built), shared
}

// Two releases of a tree, in different folders and with other settings of the environment, have
// the same bytes, and the checksums that they name.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := filepath.Join(dir, "release")
	if out, err := exec.Command("go", "build", "-o", command, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tree := copyTree(t, filepath.Join(dir, "another", "place"))
	var releases []map[string]string
	for n, c := range []struct{ root, shell, env string }{
		{"../..", "umask 022", "TZ=UTC"},
		{tree, "umask 077", "TZ=Asia/Tokyo"},
	} {
		dist := filepath.Join(dir, fmt.Sprint(n))
		made := exec.Command("sh", "-c", c.shell+` && exec "$@"`, "sh", command, "-root", c.root, "-dist", dist, "-platforms", here, "-stamp", stamp)
		made.Env = append(os.Environ(), c.env, "GOFLAGS=-buildvcs=false", "GOAMD64=v2", "LC_ALL=C")
		if out, err := made.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		releases = append(releases, sums(t, dist))
	}
	if !maps.Equal(releases[0], releases[1]) {
		t.Errorf("two releases of the same tree differ:\n%v\n%v", releases[0], releases[1])
	}
	checkContents(t, filepath.Join(dir, "0"))
}

// sums returns the checksums that a release names, which must be those of its files.
func sums(t *testing.T, dist string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		data, err := os.ReadFile(filepath.Join(dist, name))
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); err != nil || got != sum {
			t.Errorf("%s has the checksum %s, %v; SHA256SUMS says %s", name, got, err, sum)
		}
		all[name] = sum
	}
	if files, err := os.ReadDir(dist); err != nil || len(all) != 4 || len(files) != 5 {
		t.Errorf("the release has %d files and checksums of %v, %v; want an archive, a package, a list of modules and an image", len(files), slices.Sorted(maps.Keys(all)), err)
	}
	return all
}

// checkContents unpacks the archive of a release with tar, runs its program, and compares the
// list of modules with go.mod.
func checkContents(t *testing.T, dist string) {
	t.Helper()
	name := "a2a-server_1.0.0_" + strings.ReplaceAll(here, "/", "_")
	unpack := "cd " + dist + " && tar xzf " + name + ".tar.gz && cd " + name + " && ls LICENSE README.md CHANGELOG.md completion deploy/a2a-server.service >/dev/null && ./a2a-server version"
	said, err := exec.Command("sh", "-ec", unpack).CombinedOutput()
	if want := "a2a-server v1.0.0 (commit 0123456789ab of 2026-11-27T00:28:13Z, go"; err != nil || !strings.HasPrefix(string(said), want) {
		t.Errorf("the program of the archive says %q, %v; want %q…", said, err, want)
	}
	text, err := os.ReadFile(filepath.Join(dist, name+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	bbolt := regexp.MustCompile(`go\.etcd\.io/bbolt (\S+)`).FindStringSubmatch(string(gomod))[1]
	if !slices.ContainsFunc(*bom.Components, func(c cdx.Component) bool {
		return c.Name == "go.etcd.io/bbolt" && c.Version == bbolt && c.Hashes != nil && len((*c.Hashes)[0].Value) == 64
	}) {
		t.Errorf("the list of modules has no bbolt %s with a hash:\n%s", bbolt, text)
	}
}

// copyTree copies what git has of the work tree into a folder.
func copyTree(t *testing.T, to string) string {
	t.Helper()
	copying := "mkdir -p " + to + " && cd ../.. && git ls-files -co --exclude-standard -z -- ':!*testdata*' ':!internal/interop' | xargs -0 sh -c 'for f; do [ ! -e \"$f\" ] || printf \"%s\\0\" \"$f\"; done' sh | tar c --null -T - | tar x -C " + to
	if out, err := exec.Command("sh", "-ec", copying).CombinedOutput(); err != nil {
		t.Fatalf("copy the work tree: %v\n%s", err, out)
	}
	return to
}

// The version comes from git's tags, as Go takes it, and each is newer than the one before, for
// dpkg too.
func TestVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := ""
	for _, step := range []struct{ do, want string }{
		{"git init -q && git commit -q --allow-empty -m one", `v0\.0\.0-20261127002813-[0-9a-f]{12}`},
		{"git tag v1.0.0-rc.1 && git tag -m other other", `v1\.0\.0-rc\.1`},
		{"git tag v1.0.0", `v1\.0\.0`},
		{"git commit -q --allow-empty -m two", `v1\.0\.1-0\.20261127002813-[0-9a-f]{12}`},
		{"touch new", `v1\.0\.1-0\.20261127002813-[0-9a-f]{12}\+dirty`},
		{"git add new && git commit -qm three && git tag v1.0.1 && git tag v1", `v1\.0\.1`},
	} {
		cmd := exec.Command("sh", "-ec", step.do)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_COMMITTER_DATE=2026-11-27T02:28:13+02:00",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step.do, err, out)
		}
		s, err := newSource(t.Context(), dir, "")
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile("^" + step.want + " [0-9a-f]{40} 2026-11-27T00:28:13Z$").MatchString(s.stamp()) {
			t.Errorf("after %s the stamp is %s, want %s", step.do, s.stamp(), step.want)
		}
		if out, err := exec.Command("dpkg", "--compare-versions", s.debVersion(), "gt", before).CombinedOutput(); before != "" && err != nil {
			t.Errorf("%s is not after %s: %v %s", s.debVersion(), before, err, out)
		}
		before = s.debVersion()
	}
	if _, err := newSource(t.Context(), t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "-stamp") {
		t.Errorf("outside of a work tree: %v, want what to do", err)
	}
}
