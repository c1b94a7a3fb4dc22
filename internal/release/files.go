package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive, package or image.
type file struct {
	name  string
	mode  fs.FileMode // of a folder: with fs.ModeDir
	data  []byte
	owner int // user and group; 0: root
}

// program returns the program as a file.
func program(data []byte) file { return file{name: "a2a-server", mode: 0o755, data: data} }

// shared returns the files of every archive and Debian package, by the names that they have in
// the tree and in archives. The program runs on this machine.
func (s *source) shared(ctx context.Context, program []byte) ([]file, error) {
	all, err := completion(ctx, program)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{
		"CHANGELOG.md", "LICENSE", "README.md", "deploy/Caddyfile", "deploy/a2a-server.service", "deploy/a2a-server.yaml",
		"deploy/alerts.yaml", "deploy/compose.yaml", "deploy/container.yaml", "deploy/grafana.json", "deploy/kubernetes.yaml", "deploy/nginx.conf",
	} {
		data, err := s.read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: name, mode: 0o644, data: data})
	}
	documents, err := s.documents()
	return slices.Clip(append(all, documents...)), err
}

// documents returns the files of docs.
func (s *source) documents() (all []file, err error) {
	err = fs.WalkDir(os.DirFS(s.root), "docs", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := s.read(name)
		all = append(all, file{name: name, mode: 0o644, data: data})
		return err
	})
	return all, err
}

// writeArchive writes a compressed archive whose files are in a folder.
func (s *source) writeArchive(to, folder string, files []file) error {
	inside := slices.Clone(files)
	for i := range inside {
		inside[i].name = path.Join(folder, inside[i].name)
	}
	raw, err := tarOf(inside, s.at)
	if err != nil {
		return err
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped) // its header has no name and no time
	if _, err := w.Write(raw); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return write(to, zipped.Bytes())
}

// tarOf returns the files as a tar archive, sorted by name, all of the same time.
func tarOf(files []file, at time.Time) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var raw bytes.Buffer
	w := tar.NewWriter(&raw)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode.Perm()), Uid: f.owner, Gid: f.owner, Size: int64(len(f.data)), ModTime: at}
		if f.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return raw.Bytes(), err
}

// write writes a file of the release.
func write(to string, data []byte) error { return os.WriteFile(to, data, 0o644) } //nolint:gosec // for everybody
