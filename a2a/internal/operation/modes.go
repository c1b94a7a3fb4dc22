package operation

import (
	"fmt"
	"mime"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/internal/wire"
)

// modes are the media types that the parts of a message may have, as the card lists
// them. Each is a media range: text/plain, image/*, or */* for all.
type modes []string

// check refuses a message with a part of another type (§3.1.1, §3.3.2). A part without a
// type is allowed.
func (in modes) check(m *sdk.Message) error {
	for i, p := range m.Parts {
		if p.MediaType == "" {
			continue
		}
		media, _, err := mime.ParseMediaType(p.MediaType)
		if err != nil {
			return wire.ErrContentType.Saying(fmt.Sprintf("message.parts[%d].mediaType is not a media type: write it as text/plain", i))
		}
		if !in.take(media) {
			return wire.ErrContentType.Saying(fmt.Sprintf("message.parts[%d].mediaType is %s; this agent accepts %s", i, wire.Clip(media), strings.Join(in, ", ")))
		}
	}
	return nil
}

// take reports whether a media type, in lower case, matches one of in.
func (in modes) take(media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	return slices.Contains(in, media) || slices.Contains(in, kind+"/*") || slices.Contains(in, "*/*")
}
