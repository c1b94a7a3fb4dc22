package a2a

import (
	"net/http"
	"slices"
	"strings"
)

// version is the served version of A2A, as Major.Minor, and oldVersion the version that is
// served beside it unless Config.OnlyV1 is set.
const (
	version    = "1.0"
	oldVersion = "0.3"
)

const versionHeader = "A2A-Version"

// versionKey is versionHeader as a key of an http.Header.
var versionKey = http.CanonicalHeaderKey(versionHeader)

// checkVersion refuses a request for a method or path of 1.0 that names another version. The
// patch part is ignored (§3.6). A request without a version has the version of its method or
// path (D8) or, with StrictVersions, 0.3 (§3.6.2). The parameter what is the method or the
// path.
func (s *Server) checkVersion(r *http.Request, what string) error {
	if s.cfg.StrictVersions && len(askedVersions(r)) == 0 {
		why := "and " + what + " is of A2A " + version
		if s.cfg.OnlyV1 {
			why = "which this server does not support"
		}
		return s.otherVersion("a request that names no version counts as A2A 0.3, " + why + ": send the header " + versionHeader + ": " + version)
	}
	return s.checkNamed(r, what, version, "")
}

// checkOldVersion is checkVersion for a method or path of 0.3. instead is its replacement in
// 1.0.
func (s *Server) checkOldVersion(r *http.Request, what, instead string) error {
	return s.checkNamed(r, what, oldVersion, instead)
}

// checkNamed refuses a request for something of one version that names another.
func (s *Server) checkNamed(r *http.Request, what, of, instead string) error {
	for _, v := range askedVersions(r) {
		switch {
		case is(v, of):
		case is(v, version), is(v, oldVersion) && !s.cfg.OnlyV1:
			next := "send " + versionHeader + ": " + version + ", or use what A2A 0.3 has instead"
			if of == oldVersion {
				next = "use " + instead + ", or leave out " + versionHeader
			}
			return s.otherVersion(what + " is of A2A " + of + ", but the request names version " + clip(v) + ": " + next)
		default:
			return s.unknownVersion(v)
		}
	}
	return nil
}

// is reports whether a version that a request names is Major.Minor, whatever its patch part.
func is(v, majorMinor string) bool { return v == majorMinor || strings.HasPrefix(v, majorMinor+".") }

func (s *Server) unknownVersion(v string) error {
	return s.otherVersion("version " + clip(v) + " of A2A is not supported: use " + s.versions(" or "))
}

// versions lists the served versions, the preferred first.
func (s *Server) versions(separator string) string {
	if s.cfg.OnlyV1 {
		return version
	}
	return version + separator + oldVersion
}

// askedVersions returns the versions that a request names: in the header A2A-Version or,
// without that, in the query parameter, whose name is case-insensitive (§3.2.6).
func askedVersions(r *http.Request) []string {
	var all []string
	for _, v := range r.Header[versionKey] {
		if v = strings.TrimSpace(v); v != "" {
			all = append(all, v)
		}
	}
	if len(all) > 0 || r.URL.RawQuery == "" {
		return all
	}
	for name, values := range r.URL.Query() {
		for _, v := range values {
			if v = strings.TrimSpace(v); v != "" && strings.EqualFold(name, versionHeader) {
				all = append(all, v)
			}
		}
	}
	slices.Sort(all)
	return all
}

func (s *Server) otherVersion(message string) error {
	w := errVersion.saying(message)
	w.metadata = map[string]string{"supportedVersions": s.versions(", ")}
	return w
}

// checkCallVersion refuses a call of gRPC that names another version than that of its service.
// A call without a version has the version of the service, since the name of the service has
// it, also with StrictVersions.
func (s *Server) checkCallVersion(r *http.Request, served string) error {
	for _, v := range askedVersions(r) {
		if !is(v, served) {
			return s.otherVersion("version " + clip(v) + " of A2A is not served by this service: use " + served + ", or the service of the other version")
		}
	}
	return nil
}
