package a2a

import (
	"net/http"
	"time"
)

// linger is how long the rest of a request is read when it has been answered without
// it, so that its client comes to read the answer.
const linger = time.Second

// begin sets what every answer has, and what a handler may change. finish is called
// when the handler has returned.
//
// A connection whose request has a body is closed after the answer, until somebody has
// read that body and says so with [read]: net/http would wait for the rest of it before
// it answers. In HTTP/2 a stream ends by itself, and the connection continues.
func begin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	values := []string{"nosniff", "same-origin", "no-store", "close"} // one allocation for all
	h["X-Content-Type-Options"] = values[0:1:1]
	h["Cross-Origin-Resource-Policy"] = values[1:2:2]
	h["Cache-Control"] = values[2:3:3]
	if r.ContentLength != 0 && r.ProtoMajor == 1 {
		h["Connection"] = values[3:4:4]
	}
	if r.ProtoMajor == 1 { // what the answer before it had
		_ = http.NewResponseController(w).SetWriteDeadline(noDeadline)
	}
}

// bound bounds how long what is written from here on may wait for its reader. A socket
// takes little at once, unless its reader has left what came before, or has no window
// for it in HTTP/2.
func bound(w http.ResponseWriter) {
	// A connection that is gone is noticed by its next use.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
}

// read says that the body of a request has been read to its end.
func read(w http.ResponseWriter, r *http.Request) {
	delete(w.Header(), "Connection")
	r.Body = http.NoBody
}

// finish bounds how long the body of a request that nobody has read is waited for, and
// what of the answer is still to be written.
func finish(w http.ResponseWriter, r *http.Request) {
	bound(w)
	if m, ok := r.Body.(*metered); ok {
		m.release()
		r.Body = http.NoBody
	}
	if r.ContentLength == 0 || r.ProtoMajor != 1 || r.Body == http.NoBody {
		return
	}
	// A connection that is gone is noticed by its next use.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
}

// Refuse answers a request as the server itself does: an error in the form of its binding,
// with the headers of every answer. It is for what serves beside a [Server]. status is of HTTP; 503 says
// to try again.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	begin(w, r)
	defer finish(w, r)
	writeError(w, s.local(r), transportError(status).saying(message))
}
