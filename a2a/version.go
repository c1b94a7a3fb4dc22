package a2a

import (
	"net/http"
	"strings"
)

// version is the version of A2A that is served, as Major.Minor.
const version = "1.0"

const versionHeader = "A2A-Version"

// checkVersion refuses a version that is not served. It is named by the header or
// the query parameter A2A-Version; its patch part counts for nothing (§3.6).
// Without one the name of the method, or the path, decides (D8).
func checkVersion(r *http.Request) error {
	asked := r.Header.Get(versionHeader)
	if asked == "" && r.URL.RawQuery != "" {
		asked = r.URL.Query().Get(versionHeader)
	}
	if asked = strings.TrimSpace(asked); asked == "" || asked == version || strings.HasPrefix(asked, version+".") {
		return nil
	}
	w := errVersion.saying("version " + clip(asked) + " of A2A is not supported: use " + version)
	w.metadata = map[string]string{"supportedVersions": version}
	return w
}
