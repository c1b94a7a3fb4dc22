package operation

import (
	"net/http"
	"slices"
	"strings"

	"a2a-server/a2a/internal/wire"
)

// VersionHeader is the header in which a request names its version of A2A.
const VersionHeader = "A2A-Version"

// versionKey is VersionHeader as a key of an http.Header.
var versionKey = http.CanonicalHeaderKey(VersionHeader)

// Versions are the versions of A2A that a server serves.
type Versions struct {
	onlyV1 bool // 0.3 is off
	strict bool // a request that names no version is of 0.3 (§3.6.2)
}

// Check refuses a request for a method or path of 1.0 that names another version. The
// patch part is ignored (§3.6). A request without a version has the version of its method or
// path (D8) or, when v is strict, 0.3 (§3.6.2). The parameter what is the method or the
// path.
func (v Versions) Check(r *http.Request, what string) error {
	if v.strict && len(AskedVersions(r)) == 0 {
		why := "and " + what + " is of A2A " + wire.Version
		if v.onlyV1 {
			why = "which this server does not support"
		}
		return v.Other("a request that names no version counts as A2A 0.3, " + why + ": send the header " + VersionHeader + ": " + wire.Version)
	}
	return v.checkNamed(r, what, wire.Version, "")
}

// CheckOld is Check for a method or path of 0.3. instead is its replacement in
// 1.0.
func (v Versions) CheckOld(r *http.Request, what, instead string) error {
	return v.checkNamed(r, what, wire.OldVersion, instead)
}

// checkNamed refuses a request for something of one version that names another.
func (v Versions) checkNamed(r *http.Request, what, of, instead string) error {
	for _, asked := range AskedVersions(r) {
		switch {
		case IsVersion(asked, of):
		case IsVersion(asked, wire.Version), IsVersion(asked, wire.OldVersion) && !v.onlyV1:
			next := "send " + VersionHeader + ": " + wire.Version + ", or use what A2A 0.3 has instead"
			if of == wire.OldVersion {
				next = "use " + instead + ", or leave out " + VersionHeader
			}
			return v.Other(what + " is of A2A " + of + ", but the request names version " + wire.Clip(asked) + ": " + next)
		default:
			return v.Unknown(asked)
		}
	}
	return nil
}

// IsVersion reports whether a version that a request names is Major.Minor, whatever its patch part.
func IsVersion(v, majorMinor string) bool {
	return v == majorMinor || strings.HasPrefix(v, majorMinor+".")
}

// Unknown returns the error for a version that is not served.
func (v Versions) Unknown(asked string) error {
	return v.Other("version " + wire.Clip(asked) + " of A2A is not supported: use " + v.list(" or "))
}

// list lists the served versions, the preferred first.
func (v Versions) list(separator string) string {
	if v.onlyV1 {
		return wire.Version
	}
	return wire.Version + separator + wire.OldVersion
}

// AskedVersions returns the versions that a request names: in the header A2A-Version or,
// without that, in the query parameter, whose name is case-insensitive (§3.2.6).
func AskedVersions(r *http.Request) []string {
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
			if v = strings.TrimSpace(v); v != "" && strings.EqualFold(name, VersionHeader) {
				all = append(all, v)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Other returns an error with a message, and the served versions in its metadata.
func (v Versions) Other(message string) error {
	w := wire.ErrVersion.Saying(message)
	w.Metadata = map[string]string{"supportedVersions": v.list(", ")}
	return w
}

// CheckCall refuses a call of gRPC that names another version than that of its service.
// A call without a version has the version of the service, since the name of the service has
// it, also when v is strict.
func (v Versions) CheckCall(r *http.Request, served string) error {
	for _, asked := range AskedVersions(r) {
		if !IsVersion(asked, served) {
			return v.Other("version " + wire.Clip(asked) + " of A2A is not served by this service: use " + served + ", or the service of the other version")
		}
	}
	return nil
}

// PlainFaults reports whether the data of an error in JSON-RPC is an object, as clients that
// know only 0.3 expect it. A client that sends A2A-Version also knows 1.0, whose data is a
// list.
func (v Versions) PlainFaults(r *http.Request) bool {
	return !v.onlyV1 && len(AskedVersions(r)) == 0
}

// WantsUnion reports whether a request for the card gets the card for clients of both
// versions: unless 0.3 is off, or the request names 1.0.
func (v Versions) WantsUnion(r *http.Request) bool {
	return !v.onlyV1 && !slices.ContainsFunc(AskedVersions(r), func(asked string) bool { return IsVersion(asked, wire.Version) })
}
