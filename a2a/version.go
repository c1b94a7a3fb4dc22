package a2a

import (
	"net/http"
	"strings"
)

// version is the version of A2A that is served, as Major.Minor.
const version = "1.0"

// checkVersion refuses a version that is not served. It is named by the header or
// the query parameter A2A-Version; its patch part counts for nothing (§3.6).
// Without one the name of the method decides.
func checkVersion(r *http.Request) *wireError {
	asked := r.Header.Get("A2A-Version")
	if asked == "" {
		asked = r.URL.Query().Get("A2A-Version")
	}
	if asked = strings.TrimSpace(asked); asked == "" {
		return nil
	}
	if parts := strings.SplitN(asked, ".", 3); len(parts) >= 2 && parts[0]+"."+parts[1] == version {
		return nil
	}
	w := errVersion.saying("version " + asked + " of A2A is not supported; use " + version)
	w.metadata = map[string]string{"supportedVersions": version}
	return w
}
