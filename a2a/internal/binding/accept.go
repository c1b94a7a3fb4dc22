package binding

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"a2a-server/a2a/internal/wire"
)

// ResponseType returns the media type of a response in HTTP+JSON (§11.1) that the client prefers.
// Without a preference it is the type of the request or, without a body, the type that A2A
// prefers. A client that accepts neither gets the same type, because any response is more use to
// it than none.
func ResponseType(r *http.Request) string {
	accept := r.Header["Accept"]
	plain, own := Quality(accept, wire.TypeJSON), Quality(accept, wire.TypeA2A)
	switch {
	case plain > own:
		return wire.TypeJSON
	case plain < own:
		return wire.TypeA2A
	}
	if sent, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && sent == wire.TypeJSON {
		return wire.TypeJSON
	}
	return wire.TypeA2A
}

// Quality returns the weight of a media type for the client, from 0 to 1: that of the most
// specific matching range of its Accept (RFC 9110 §12.5.1).
func Quality(accept []string, media string) float64 {
	if len(accept) == 0 {
		return 1
	}
	found, best := 0.0, 0
	kind, _, _ := strings.Cut(media, "/")
	for _, line := range accept {
		for item := range strings.SplitSeq(line, ",") {
			name, params, err := mime.ParseMediaType(item)
			if err != nil {
				continue
			}
			fit := map[string]int{media: 3, kind + "/*": 2, "*/*": 1}[name]
			if fit <= best {
				continue
			}
			found, best = 1, fit
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q >= 0 && q < 1 {
				found = q
			}
		}
	}
	return found
}
