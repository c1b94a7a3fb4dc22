package operation

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"a2a-server/task/engine"
)

// Resume returns the last event that a reader has seen, which it continues after.
type Resume func(id engine.ID) (seq uint64, ok bool)

// EventTag returns 4 hex digits derived from a task and the store's incarnation, so that an
// event id of another task, or of a store that was replaced, is not accepted.
func (s *Service) EventTag(id engine.ID) string {
	n := binary.BigEndian.Uint64(id[8:]) ^ s.Incarnation
	return fmt.Sprintf("%04x", uint16(n^n>>16^n>>32^n>>48))
}

// LastEventID returns the last event that a client has seen, if its Last-Event-ID belongs
// to the task.
func (s *Service) LastEventID(r *http.Request) Resume {
	return func(id engine.ID) (uint64, bool) {
		text, tag, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-")
		if !ok || tag != s.EventTag(id) {
			return 0, false
		}
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil
	}
}
