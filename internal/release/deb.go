package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// installed returns where Debian has a file of an archive; "": nowhere.
func installed(name string) string {
	for _, shell := range shells {
		if name == shell.archived {
			return shell.installed
		}
	}
	switch name {
	case "a2a-server":
		return "/usr/bin/a2a-server"
	case "deploy/a2a-server.yaml":
		return "/etc/a2a-server/a2a-server.yaml"
	case "deploy/a2a-server.service":
		return "/usr/lib/systemd/system/a2a-server.service"
	case "deploy/compose.yaml", "deploy/kubernetes.yaml":
		return ""
	case "LICENSE":
		return "/usr/share/doc/a2a-server/copyright"
	case "CHANGELOG.md":
		return "/usr/share/doc/a2a-server/changelog"
	}
	return "/usr/share/doc/a2a-server/" + strings.Replace(name, "deploy/", "examples/", 1)
}

// debVersion returns the version in Debian's order: v1.2.3-rc.1 is 1.2.3~rc.1, before 1.2.3.
func (s *source) debVersion() string {
	return strings.ReplaceAll(strings.Replace(s.number(), "-", "~", 1), "-", ".")
}

// writeDeb writes a Debian package into dist. What dpkg runs is in the folder debian.
func (s *source) writeDeb(dist, arch string, contents []file) error {
	staged, err := os.MkdirTemp("", "a2a-server-release-") // the packager reads files
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staged) }()
	script := func(name string) string { return filepath.Join(s.root, "internal", "release", "debian", name) }
	info := &nfpm.Info{
		Name: "a2a-server", Platform: "linux", Arch: arch, Version: s.debVersion(), VersionSchema: "none", MTime: s.at, DisableGlobbing: true,
		Section: "net", Priority: "optional", License: "Apache-2.0", Maintainer: "The authors of a2a-server <noreply@invalid>",
		Description: "task server for the A2A protocol, with human approval\nA tool call that needs approval waits on disk until a person decides,\nacross crashes and restarts.",
		Overridables: nfpm.Overridables{
			Depends:    []string{"diffutils", "init-system-helpers (>= 1.54)", "passwd"},
			Recommends: []string{"ca-certificates"},
			Scripts:    nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")},
			Deb:        nfpm.Deb{Compression: "gzip"},
		},
	}
	for _, f := range contents {
		to, at := installed(f.name), filepath.Join(staged, strings.ReplaceAll(f.name, "/", "_"))
		if to == "" {
			continue
		}
		if err := os.WriteFile(at, f.data, 0o600); err != nil {
			return err
		}
		kind := files.TypeFile
		if strings.HasPrefix(to, "/etc/") {
			kind = files.TypeConfigNoReplace
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: at, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: s.at},
		})
	}
	var made bytes.Buffer
	if err := deb.Default.Package(nfpm.WithDefaults(info), &made); err != nil {
		return err
	}
	return write(filepath.Join(dist, deb.Default.ConventionalFileName(info)), made.Bytes())
}
