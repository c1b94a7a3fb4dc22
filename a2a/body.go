package a2a

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"a2a-server/auth"
)

// freeBody is how many bytes of a request do not count towards the memory for large
// requests. Nearly all requests are smaller.
const freeBody = 64 << 10

// body reads the whole JSON body of a request. Its errors are 415 for another content type,
// coding or charset, 413 for a body over the limit, 408 for one that takes too long, and 503
// when large requests hold all their memory. The memory is released once the request has
// been answered.
func (s *Server) body(c echo.Context, by auth.Principal) (raw []byte, err error) {
	r := c.Request()
	if types := r.Header["Content-Type"]; len(types) != 1 || !jsonContent(types[0]) {
		return nil, transportError(http.StatusUnsupportedMediaType)
	}
	if coding := r.Header["Content-Encoding"]; len(coding) > 1 || len(coding) == 1 && coding[0] != "" && !strings.EqualFold(coding[0], "identity") {
		return nil, transportError(http.StatusUnsupportedMediaType).saying("the body must be sent as it is, without a Content-Encoding")
	}
	if r.ContentLength > s.cfg.MaxBody {
		return nil, transportError(http.StatusRequestEntityTooLarge)
	}
	if 0 <= r.ContentLength && r.ContentLength <= freeBody { // nearly all: nothing is reserved, and its length bounds it
		if raw, err = readBody(r.Body, r.ContentLength); err != nil {
			return nil, unreadBody(err)
		}
		read(c.Response(), r)
		return raw, nil
	}
	m := &metered{body: http.MaxBytesReader(c.Response(), r.Body, s.cfg.MaxBody), by: by, shares: s.bodies, left: freeBody}
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
	read(c.Response(), r)
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
		return transportError(http.StatusRequestEntityTooLarge)
	case errors.As(err, &timeout) && timeout.Timeout():
		return transportError(http.StatusRequestTimeout)
	default:
		return transportError(http.StatusBadRequest)
	}
}

// metered is a request body that reserves memory as it arrives, so that a body of which
// little arrives reserves little.
type metered struct {
	body   io.Reader
	by     auth.Principal
	shares *shares
	left   int // bytes that may arrive before more is reserved
	taken  []func()
	full   error // no more could be reserved
}

func (m *metered) Read(p []byte) (int, error) {
	if m.left == 0 {
		give, err := m.shares.take(m.by, freeBody)
		if err != nil {
			m.full = err
			return 0, err
		}
		m.taken, m.left = append(m.taken, give), freeBody
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

// readBody reads everything. The memory grows with what has arrived, up to the length if it
// is known: the rest may never come.
func readBody(body io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(body)
	}
	raw := make([]byte, 0, min(length, freeBody))
	for {
		n, err := io.ReadFull(body, raw[len(raw):cap(raw)])
		if raw = raw[:len(raw)+n]; err != nil || int64(len(raw)) == length {
			return raw, err
		}
		raw = append(make([]byte, 0, min(length, 2*int64(cap(raw)))), raw...)
	}
}

func jsonContent(header string) bool {
	switch header {
	case typeJSON, typeA2A:
		return true
	}
	media, params, err := mime.ParseMediaType(header)
	charset, given := params["charset"]
	return err == nil && (media == typeJSON || media == typeA2A) && (!given || strings.EqualFold(charset, "utf-8"))
}
