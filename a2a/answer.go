package a2a

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// answerTime is how long a client may take to read one piece of an answer. A piece is as
// much as Config.ReadRate gives for that time.
const answerTime = 10 * time.Second

// buffered is the length from which net/http may send an answer before its handler returns.
// What is shorter is sent with the deadline that [finish] sets.
const buffered = 2 << 10

// answer writes a whole answer, a large one in pieces. It is cut off when the client reads
// more slowly than Config.ReadRate, so that slow clients do not hold its memory.
func (s *Server) answer(c echo.Context, contentType string, body []byte) error {
	piece := s.cfg.ReadRate * int(answerTime/time.Second)
	if len(body) <= min(largeAnswer, piece) {
		if len(body) >= buffered {
			bound(c.Response())
		}
		return c.Blob(http.StatusOK, contentType, body)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, contentType)
	h.Set(echo.HeaderContentLength, strconv.Itoa(len(body))) // so that a truncated answer is not mistaken for a whole one
	c.Response().WriteHeader(http.StatusOK)
	w := c.Response().Unwrap()
	control := http.NewResponseController(w)
	for len(body) > 0 {
		n := min(piece, len(body))
		if err := control.SetWriteDeadline(time.Now().Add(answerTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return fmt.Errorf("write answer: %w", err)
		}
		if _, err := w.Write(body[:n]); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
		body = body[n:]
	}
	if err := control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) { // before the deadline ends
		return fmt.Errorf("write answer: %w", err)
	}
	_ = control.SetWriteDeadline(noDeadline) // the next use reports a connection that is gone
	return nil
}
