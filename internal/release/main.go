// Command release makes the files of a release from a work tree: archives, Debian packages, an
// image, the list of modules in each program (CycloneDX), and checksums. `make release` runs it.
//
// The files depend on the tree, its commit and version, and the version of Go alone: another
// machine makes the same bytes.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes a release as the flags say.
func run(ctx context.Context) error {
	root := flag.String("root", "../..", "the work tree, a `folder`")
	dist := flag.String("dist", "../../dist", "where the files go: a `folder` that does not exist yet")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "the `systems` to build for")
	stamp := flag.String("stamp", "", "the `version`, the commit and its date; by default git's")
	flag.Parse()
	s, err := newSource(ctx, *root, *stamp)
	if err != nil {
		return err
	}
	if err := os.Mkdir(*dist, 0o755); err != nil { //nolint:gosec // for everybody
		return fmt.Errorf("make the folder of the release: %w; remove it, or name another one with -dist", err)
	}
	return s.release(ctx, *dist, strings.Split(*platforms, ","))
}

// release writes all files into dist; the checksums last.
func (s *source) release(ctx context.Context, dist string, platforms []string) error {
	here := runtime.GOOS + "/" + runtime.GOARCH // whose program makes the scripts of shells
	programs := map[string][]byte{}
	for _, on := range append([]string{here}, platforms...) {
		if programs[on] != nil {
			continue
		}
		var err error
		if programs[on], err = s.build(ctx, on); err != nil {
			return err
		}
	}
	shared, err := s.shared(ctx, programs[here])
	if err != nil {
		return err
	}
	images := map[string][]byte{} // programs by architecture
	for _, on := range platforms {
		name := "a2a-server_" + s.number() + "_" + strings.ReplaceAll(on, "/", "_")
		if err := s.writeArchive(filepath.Join(dist, name+".tar.gz"), name, append(shared, program(programs[on]))); err != nil {
			return err
		}
		if err := s.writeSBOM(filepath.Join(dist, name+".cdx.json"), on, programs[on]); err != nil {
			return err
		}
		arch, linux := strings.CutPrefix(on, "linux/")
		if !linux {
			continue
		}
		images[arch] = programs[on]
		if err := s.writeDeb(dist, arch, append(shared, program(programs[on]))); err != nil {
			return err
		}
	}
	if err := s.writeImage(filepath.Join(dist, "a2a-server_"+s.number()+"_image.tar"), images); err != nil {
		return err
	}
	return writeSums(dist)
}

// writeSums writes the SHA-256 of every file in dist, in the form of sha256sum.
func writeSums(dist string) error {
	entries, err := os.ReadDir(dist) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dist, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return write(filepath.Join(dist, "SHA256SUMS"), []byte(sums.String()))
}
