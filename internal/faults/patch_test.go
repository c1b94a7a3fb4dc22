//go:build linux

package faults

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// library is the one that fails at will.
const library = "go.etcd.io/bbolt"

// replacement is a text of the library that must be there exactly once. When a new
// version changes it, the build of the suite fails and names it.
type replacement struct{ file, old, new string }

// in returns the text of a file of a library after the replacement.
func (r replacement) in(path, library string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), r.old); n != 1 {
		return nil, fmt.Errorf("%s of %s has %d times what is to be replaced, want 1: find its new form for the replacements of internal/faults:\n%s", r.file, library, n, r.old)
	}
	return []byte(strings.Replace(string(text), r.old, r.new, 1)), nil
}

// The points of a commit, in their order: a page is written, the pages are synced, the
// meta page is written, the meta page is synced. Before the last nothing of the commit is
// there; after it the outcome is unknown.
const (
	atWrite     = "write"
	atSync      = "sync"
	atWriteMeta = "write-meta"
	atSyncMeta  = "sync-meta"
)

var replacements = []replacement{
	{"tx.go", "_, err := tx.db.ops.writeAt(buf, offset)", `_, err := faultyWrite("` + atWrite + `", tx.db, buf, offset)`},
	{"tx.go", "_, err := tx.db.ops.writeAt(buf, int64(p.Id())*int64(tx.db.pageSize))", `_, err := faultyWrite("` + atWriteMeta + `", tx.db, buf, int64(p.Id())*int64(tx.db.pageSize))`},
	{"tx.go", "// gofail: var beforeSyncDataPages struct{}\n\t\tif err := fdatasync(tx.db)", "if err := faultySync(\"" + atSync + "\", tx.db)"},
	{"tx.go", "// gofail: var beforeSyncMetaPage struct{}\n\t\tif err := fdatasync(tx.db)", "if err := faultySync(\"" + atSyncMeta + "\", tx.db)"},
}

// controlEnv names the folder by which the patched library is told what to do.
const controlEnv = "FAULTS_CONTROL"

// strikeSource is added to the library. The file "control" in the folder is one line: a
// point, an error number (0: none; 9999: a panic), a delay, and whether it is only for once; without
// the file nothing happens. Each strike is a line of the file "strikes".
const strikeSource = `package bbolt

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func strike(point string) error {
	folder := os.Getenv("` + controlEnv + `")
	text, err := os.ReadFile(folder + "/control")
	if folder == "" || err != nil {
		return nil
	}
	order := strings.Fields(string(text))
	if len(order) != 4 || order[0] != point {
		return nil
	}
	errno, err := strconv.Atoi(order[1])
	if err != nil {
		panic(err)
	}
	delay, err := time.ParseDuration(order[2])
	if err != nil {
		panic(err)
	}
	if order[3] == "once" {
		if err := os.Remove(folder + "/control"); err != nil {
			return nil
		}
	}
	f, err := os.OpenFile(folder+"/strikes", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = f.WriteString(point + "\n")
	_ = f.Close()
	time.Sleep(delay)
	switch {
	case errno == 0:
		return nil
	case errno == 9999:
		panic("a planted bug")
	}
	return &os.PathError{Op: point, Path: "disk", Err: syscall.Errno(errno)}
}

// A page that cannot be written is written by half.
func faultyWrite(point string, db *DB, b []byte, at int64) (int, error) {
	if err := strike(point); err != nil {
		if point == "` + atWrite + `" {
			_, _ = db.ops.writeAt(b[:len(b)/2], at)
		}
		return 0, err
	}
	return db.ops.writeAt(b, at)
}

func faultySync(point string, db *DB) error {
	if err := strike(point); err != nil {
		return err
	}
	return fdatasync(db)
}
`

// build builds the program into folder, from a copy of the library that fails at will.
func build(folder string) (binary string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	source, err := output("go", "list", "-m", "-f", "{{.Dir}}", library)
	if err != nil {
		return "", err
	}
	patched, err := patchedLibrary(source, folder)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		if name == "go.mod" {
			text = append(text, "\nreplace "+library+" => "+patched+"\n"...)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return "", err
		}
	}
	return compile(folder, "a2a-server", "./cmd/a2a-server")
}

// patchedLibrary returns a copy of the library that fails at will. It stays where the user's caches
// are, under a name of its content: at another path the go command compiles anew whatever imports it.
func patchedLibrary(source, folder string) (patched string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = folder // there is none: HOME is not set
	}
	sum := sha256.Sum256(fmt.Append(nil, source, replacements, strikeSource))
	patched = filepath.Join(cache, "a2a-server-faults", fmt.Sprintf("bbolt-%x", sum[:8]))
	if _, err := os.Stat(patched); err == nil {
		return patched, nil
	}
	if err := os.MkdirAll(filepath.Dir(patched), 0o700); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(filepath.Dir(patched), "draft-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(draft) }()
	if err := copyLibrary(source, draft); err != nil {
		return "", err
	}
	if err := patch(draft); err != nil {
		return "", err
	}
	if err := os.Rename(draft, patched); err != nil && !errors.Is(err, fs.ErrExist) { // made by another run meanwhile
		return "", err
	}
	return patched, nil
}

// compile builds the program of a folder that build has prepared.
func compile(folder, name string, flagsAndPackages ...string) (binary string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	binary = folder + "/" + name
	args := append([]string{"build", "-ldflags=-s -w", "-modfile", filepath.Join(folder, "go.mod"), "-o", binary}, flagsAndPackages...)
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

func moduleRoot() (string, error) {
	file, err := output("go", "env", "GOMOD")
	return filepath.Dir(file), err
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// copyLibrary copies what is needed to build: no tests, no commands.
func copyLibrary(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "cmd" || name == "tests" {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		if strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") && name != "go.mod" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
}

func patch(folder string) error {
	for _, r := range replacements {
		path := filepath.Join(folder, r.file)
		text, err := r.in(path, library)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "strike.go"), []byte(strikeSource), 0o600)
}
