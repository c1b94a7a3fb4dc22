package a2a

import (
	"net/http"
	"slices"
	"strings"
)

// version is the version of A2A that is served, as Major.Minor.
const version = "1.0"

const versionHeader = "A2A-Version"

// checkVersion refuses a version that is not served. The patch part is ignored (§3.6). A
// request that names none has the version of its method or path (D8) or, with
// StrictVersions, 0.3 (§3.6.2).
func (s *Server) checkVersion(r *http.Request) error {
	asked := askedVersions(r)
	if len(asked) == 0 && s.cfg.StrictVersions {
		return otherVersion("a request that names no version counts as A2A 0.3, which this server does not support: send the header " + versionHeader + ": " + version)
	}
	for _, v := range asked {
		if v != version && !strings.HasPrefix(v, version+".") {
			return otherVersion("version " + clip(v) + " of A2A is not supported: use " + version)
		}
	}
	return nil
}

// askedVersions returns the versions that a request names: in the header A2A-Version or,
// without that, in the query parameter, whose name is case-insensitive (§3.2.6).
func askedVersions(r *http.Request) []string {
	var all []string
	for _, v := range r.Header[http.CanonicalHeaderKey(versionHeader)] {
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

func otherVersion(message string) error {
	w := errVersion.saying(message)
	w.metadata = map[string]string{"supportedVersions": version}
	return w
}

// checkCallVersion refuses a call of gRPC that names another version than that of its
// service. One that names none has the version of the service, since the name of the service
// says it, also with StrictVersions.
func (s *Server) checkCallVersion(r *http.Request, served string) error {
	for _, v := range askedVersions(r) {
		if v != served && !strings.HasPrefix(v, served+".") {
			return otherVersion("version " + clip(v) + " of A2A is not served by this service: use " + served + ", or the service of the other version")
		}
	}
	return nil
}
