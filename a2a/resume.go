package a2a

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"a2a-server/task/engine"
)

// resume returns the last event that a reader has seen, which it continues after.
type resume func(id engine.ID) (seq uint64, ok bool)

// tag returns 4 hex digits derived from a task and the store's incarnation, so that an
// event id of another task, or of a store that was replaced, is not accepted.
func (s *service) tag(id engine.ID) string {
	n := binary.BigEndian.Uint64(id[8:]) ^ s.cfg.Incarnation
	return fmt.Sprintf("%04x", uint16(n^n>>16^n>>32^n>>48))
}

// lastEventID returns the last event that a client has seen, if its Last-Event-ID belongs
// to the task.
func (s *service) lastEventID(r *http.Request) resume {
	return func(id engine.ID) (uint64, bool) {
		text, tag, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-")
		if !ok || tag != s.tag(id) {
			return 0, false
		}
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil
	}
}
