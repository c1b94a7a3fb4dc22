package main

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user of the image, who owns the folder of the data and nothing else.
const nobody = 65532

// writeImage writes an OCI layout as a tar archive: an index of one image for each architecture,
// with its program, certificate authorities, and the folder /data. For Docker without
// containerd's store, which reads no index, manifest.json names the same images, with tags that
// end in the architecture. Without programs writeImage writes nothing.
func (s *source) writeImage(to string, programs map[string][]byte) error {
	if len(programs) == 0 {
		return nil
	}
	base, err := s.layer(
		file{name: "data", mode: fs.ModeDir | 0o700, owner: nobody},
		file{name: "etc", mode: fs.ModeDir | 0o755},
		file{name: "etc/ssl", mode: fs.ModeDir | 0o755},
		file{name: "etc/ssl/certs", mode: fs.ModeDir | 0o755},
		file{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		file{name: "usr", mode: fs.ModeDir | 0o755},
		file{name: "usr/bin", mode: fs.ModeDir | 0o755},
	)
	if err != nil {
		return err
	}
	tag := "a2a-server:" + strings.ReplaceAll(s.number(), "+", "-")
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var docker tarball.Manifest
	for _, arch := range slices.Sorted(maps.Keys(programs)) {
		image, err := s.image(arch, base, programs[arch])
		if err != nil {
			return err
		}
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
		manifest, err := image.Manifest()
		if err != nil {
			return err
		}
		one := tarball.Descriptor{Config: blob(manifest.Config), RepoTags: []string{tag + "-" + arch}}
		for _, l := range manifest.Layers {
			one.Layers = append(one.Layers, blob(l))
		}
		docker = append(docker, one)
	}
	files, err := layoutOf(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: all, Descriptor: v1.Descriptor{Annotations: map[string]string{
		"org.opencontainers.image.ref.name": tag,                        // Podman's name for it
		"io.containerd.image.name":          "docker.io/library/" + tag, // Docker's
	}}}))
	if err != nil {
		return fmt.Errorf("make the image: %w", err)
	}
	text, err := json.Marshal(docker)
	if err != nil {
		return err
	}
	raw, err := tarOf(append(files, file{name: "manifest.json", mode: 0o644, data: text}), s.at)
	if err != nil {
		return err
	}
	return write(to, raw)
}

// blob returns the name of a blob in a layout.
func blob(d v1.Descriptor) string { return "blobs/" + d.Digest.Algorithm + "/" + d.Digest.Hex }

// image returns the image of an architecture.
func (s *source) image(arch string, base v1.Layer, binary []byte) (v1.Image, error) {
	top, err := s.layer(file{name: "usr/bin/a2a-server", mode: 0o755, data: binary})
	if err != nil {
		return nil, err
	}
	made := v1.Time{Time: s.at}
	of, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: made, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/usr/bin/a2a-server"}, Cmd: []string{"serve"}, User: fmt.Sprintf("%d:%[1]d", nobody), WorkingDir: "/",
			// PATH is that of commands in the container: not every runtime has one of its own.
			Env:          []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "A2A_SERVER_LISTEN=0.0.0.0:8080", "A2A_SERVER_DATA=/data"},
			Volumes:      map[string]struct{}{"/data": {}},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}},
			Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/a2a-server", "health"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second},
			Labels: map[string]string{
				"org.opencontainers.image.title": "a2a-server", "org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version": s.version, "org.opencontainers.image.revision": s.commit,
			},
		},
	})
	if err != nil {
		return nil, err
	}
	history := v1.History{Created: made, CreatedBy: "make release"}
	return mutate.Append(of, mutate.Addendum{Layer: base, History: history}, mutate.Addendum{Layer: top, History: history})
}

// layer returns a compressed layer.
func (s *source) layer(files ...file) (v1.Layer, error) {
	raw, err := tarOf(files, s.at)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression))
}

// authorities returns the certificate authorities of Mozilla in PEM. Those that Mozilla trusts
// for older certificates alone are left out: PEM cannot say so.
func authorities() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil || root.Constraint != nil {
			continue
		}
		fmt.Fprintf(&all, "# %s\n%s", cert.Subject, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return all.Bytes()
}

// layoutOf returns the files of the OCI layout of an index.
func layoutOf(index v1.ImageIndex) (all []file, err error) {
	dir, err := os.MkdirTemp("", "a2a-server-release-") // the library writes files
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := layout.Write(dir, index); err != nil {
		return nil, err
	}
	tree := os.DirFS(dir)
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case d.IsDir():
			all = append(all, file{name: name, mode: fs.ModeDir | 0o755})
			return nil
		}
		data, err := fs.ReadFile(tree, name)
		all = append(all, file{name: name, mode: 0o644, data: data})
		return err
	})
	return all, err
}
