package a2a

import (
	"io"
	"net/http"
	"time"
)

// linger is how long the rest of a body is read after an early answer, so that the client
// gets to read the answer.
const linger = time.Second

// The values of the headers of every answer. All answers share them, so a handler has to
// replace a header, as http.Header does, and not to write into its values.
var nosniff, sameOrigin, noStore, closing = []string{"nosniff"}, []string{"same-origin"}, []string{"no-store"}, []string{"close"}

// begin sets the headers of every answer, which a handler may change. Call [finish] when
// the handler has returned.
//
// The connection of a request with a body is closed after the answer, unless [read] says
// that the body was read to its end: net/http would wait for the rest of it before it
// answers. In HTTP/2 only the stream ends.
func begin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["X-Content-Type-Options"] = nosniff
	h["Cross-Origin-Resource-Policy"] = sameOrigin
	h["Cache-Control"] = noStore
	if r.ContentLength != 0 && r.ProtoMajor == 1 {
		h["Connection"] = closing
	}
	if r.ProtoMajor == 1 { // remove the deadline of the previous answer
		_ = http.NewResponseController(w).SetWriteDeadline(noDeadline)
	}
}

// bound sets a write deadline of answerTime. A small answer fits into the socket's buffer
// at once, unless the client has not read earlier answers or, in HTTP/2, gives no window.
func bound(w http.ResponseWriter) {
	// The next use reports a connection that is gone.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
}

// read records that the body of a request has been read to its end.
func read(w http.ResponseWriter, r *http.Request) {
	delete(w.Header(), "Connection")
	r.Body = http.NoBody
}

// maxSkipped is the length of a body that is read only to keep a connection, in bytes.
const maxSkipped = 16 << 10

// skip reads a small body and forgets it, so that the connection stays open: a caller that
// makes too many requests must not cost a new connection for each, too.
func skip(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 || r.ContentLength <= 0 || r.ContentLength > maxSkipped {
		return
	}
	if http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger)) != nil {
		return
	}
	if n, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err == nil && n == r.ContentLength {
		read(w, r)
	}
}

// finish sets deadlines for the rest of an unread body and for what is left of the answer.
func finish(w http.ResponseWriter, r *http.Request) {
	bound(w)
	if m, ok := r.Body.(*metered); ok {
		m.release()
		r.Body = http.NoBody
	}
	if r.ContentLength == 0 || r.ProtoMajor != 1 || r.Body == http.NoBody {
		return
	}
	// The next use reports a connection that is gone.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
}

// Refuse answers a request with an error as the server itself does: in the format of the
// request's binding, with the headers of every answer. It is for handlers next to a
// [Server]. status is the HTTP status; 503 adds Retry-After.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	begin(w, r)
	defer finish(w, r)
	writeError(w, s.Local(r), transportError(status).saying(message))
}
