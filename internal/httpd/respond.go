package httpd

import (
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/visible"
)

// linger is how long the rest of a body is read after an early answer, so that the client
// gets to read the answer.
const linger = time.Second

// The values of the headers of every answer. All answers share them, so a handler has to
// replace a header, as http.Header does, and not to write into its values.
var nosniff, sameOrigin, noStore, closing = []string{"nosniff"}, []string{"same-origin"}, []string{"no-store"}, []string{"close"}

// Begin sets the headers of every answer, which a handler may change. Call [Finish] when
// the handler has returned.
//
// The connection of a request with a body is closed after the answer, unless [BodyRead] says
// that the body was read to its end: net/http would wait for the rest of it before it
// answers. In HTTP/2 only the stream ends.
func Begin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["X-Content-Type-Options"] = nosniff
	h["Cross-Origin-Resource-Policy"] = sameOrigin
	h["Cache-Control"] = noStore
	if r.ContentLength != 0 && r.ProtoMajor == 1 {
		h["Connection"] = closing
	}
	if r.ProtoMajor == 1 { // remove the deadline of the previous answer
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
}

// Bound sets a write deadline of AnswerTime. A small answer fits into the socket's buffer
// at once, unless the client has not read earlier answers or, in HTTP/2, gives no window.
func Bound(w http.ResponseWriter) {
	// The next use reports a connection that is gone.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(AnswerTime))
}

// BodyRead records that the body of a request has been read to its end.
func BodyRead(w http.ResponseWriter, r *http.Request) {
	if !MayHaveTwoLengths(r) {
		delete(w.Header(), "Connection")
	}
	r.Body = http.NoBody
}

// MayHaveTwoLengths reports whether the header of r may also have another length, which net/http has
// dropped: Content-Length beside Transfer-Encoding, or in HTTP/1.0 Transfer-Encoding. A proxy in front
// may go by the dropped length, and take the end of the body for another client's request, so the
// connection has to close after the answer (RFC 9112 §6.1).
func MayHaveTwoLengths(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0)
}

// MaxSkipped is the length of a body that is read only to keep a connection, or to notice that
// it has ended, in bytes.
const MaxSkipped = 16 << 10

// skip reads a small body and forgets it, so that the connection stays open: a caller that
// makes too many requests must not cost a new connection for each, too.
func skip(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 || r.ContentLength <= 0 || r.ContentLength > MaxSkipped || http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger)) != nil {
		return
	}
	if n, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err == nil && n == r.ContentLength {
		BodyRead(w, r)
	}
}

// Finish sets deadlines for the rest of an unread body and for the rest of the answer.
func Finish(w http.ResponseWriter, r *http.Request) {
	Bound(w)
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

// End is [Finish], also for a request that panics, whose panic it logs. It is deferred.
func End(w http.ResponseWriter, r *http.Request, log zerolog.Logger) {
	Finish(w, r)
	p := recover()
	if p == nil {
		return
	}
	if p != http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http compares with
		log.Error().Str("panic", visible.Clip(fmt.Sprint(p), 1000)).Bytes("stack", debug.Stack()).Str("path", visible.Clip(r.URL.Path, 200)).Msg("request panicked")
	}
	panic(http.ErrAbortHandler) // the connection is in an unknown state
}
