package httpd

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"a2a-server/auth"
)

// FreeBody is how many bytes of a request do not count towards the memory for large
// requests. Nearly all requests are smaller.
const FreeBody = 64 << 10

// Body reads the whole JSON body of a request. Its errors are 415 for another content type,
// coding or charset, 413 for a body over the limit, 408 for a body that takes too long, and
// 503 when large requests hold all their memory. The memory is released once the request has
// been answered.
func (f *Frontend) Body(w http.ResponseWriter, r *http.Request, by auth.Principal) (raw []byte, err error) {
	if types := r.Header["Content-Type"]; len(types) != 1 || !f.reads(types[0]) {
		return nil, &Error{Status: http.StatusUnsupportedMediaType}
	}
	if coding := r.Header["Content-Encoding"]; len(coding) > 1 || len(coding) == 1 && coding[0] != "" && !strings.EqualFold(coding[0], "identity") {
		return nil, refused(http.StatusUnsupportedMediaType, "the body must be sent as it is, without a Content-Encoding")
	}
	if r.ContentLength > f.cfg.MaxBody {
		return nil, &Error{Status: http.StatusRequestEntityTooLarge}
	}
	if 0 <= r.ContentLength && r.ContentLength <= FreeBody { // nearly all: nothing is reserved, and its length bounds it
		if raw, err = readBody(r.Body, r.ContentLength); err != nil {
			return nil, unreadBody(err)
		}
		BodyRead(w, r)
		return raw, nil
	}
	m := &metered{body: http.MaxBytesReader(w, r.Body, f.cfg.MaxBody), by: by, shares: f.bodies, left: FreeBody}
	defer func() {
		if err != nil {
			m.release()
		}
	}()
	raw, err = readBody(m, r.ContentLength)
	switch {
	case m.full != nil:
		return nil, m.full
	case err != nil:
		return nil, unreadBody(err)
	}
	BodyRead(w, r)
	if len(m.taken) > 0 {
		r.Body = m
	}
	return raw, nil
}

// unreadBody returns the error for a body that could not be read to its end.
func unreadBody(err error) error {
	var tooLarge *http.MaxBytesError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &tooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Status: http.StatusRequestTimeout}
	default:
		return &Error{Status: http.StatusBadRequest}
	}
}

// metered is a request body that reserves memory as it arrives, so that a body of which
// little arrives reserves little.
type metered struct {
	body   io.Reader
	by     auth.Principal
	shares *Shares
	left   int // bytes that may arrive before more is reserved
	taken  []func()
	full   error // no more could be reserved
}

func (m *metered) Read(p []byte) (int, error) {
	if m.left == 0 {
		give, err := m.shares.Take(m.by, FreeBody)
		if err != nil {
			m.full = err
			return 0, err
		}
		m.taken, m.left = append(m.taken, give), FreeBody
	}
	n, err := m.body.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// Close does nothing: the reader of the body does not close it.
func (m *metered) Close() error { return nil }

func (m *metered) release() {
	for _, give := range m.taken {
		give()
	}
	m.taken = nil
}

// readBody reads the whole body. The memory grows with the bytes received, up to the announced
// length: the rest may never come.
func readBody(body io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(body)
	}
	raw := make([]byte, 0, min(length, FreeBody))
	for {
		n, err := io.ReadFull(body, raw[len(raw):cap(raw)])
		if raw = raw[:len(raw)+n]; err != nil || int64(len(raw)) == length {
			return raw, err
		}
		raw = append(make([]byte, 0, min(length, 2*int64(cap(raw)))), raw...)
	}
}

// reads reports whether a content type is accepted for a body, in UTF-8.
func (f *Frontend) reads(header string) bool {
	if slices.Contains(f.cfg.Media, header) {
		return true
	}
	media, params, err := mime.ParseMediaType(header)
	charset, given := params["charset"]
	return err == nil && slices.Contains(f.cfg.Media, media) && (!given || strings.EqualFold(charset, "utf-8"))
}
