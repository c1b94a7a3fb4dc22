package a2aserver

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// release is the version, the commit and its time, separated by spaces, in a program made by
// `make release`; "" in other programs, whose build info has them. Only the linker sets it
// (-X a2a-server.release=…).
var release string //nolint:gochecknoglobals // a constant that the linker writes

// Build identifies the source of a program. What is unknown is "".
type Build struct {
	// Version is the version of the module, such as v1.2.3, with "+dirty" if the work tree had
	// changes; else the first 12 digits of Commit; else "devel".
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // of git, in full
	Date    string `json:"date,omitempty"`   // of the commit (RFC 3339, UTC)
}

// version returns the version of this program, as in [Build].
func version() string { return ThisBuild().Version }

// ThisBuild returns the Build of this program.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(release, info)
}

// buildOf returns the Build of a program with this release and build info.
func buildOf(release string, info *debug.BuildInfo) Build {
	if parts := strings.Fields(release); len(parts) == 3 {
		return Build{Version: parts[0], Commit: parts[1], Date: parts[2]}
	}
	var b Build
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.time":
			b.Date = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v // has +dirty
	} else {
		b.Version = cmp.Or(b.Commit[:min(12, len(b.Commit))], "devel") + dirty
	}
	return b
}
