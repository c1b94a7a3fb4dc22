package a2a

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// answerTime is how long the reader of an answer has for each piece of it. A piece is
// what has to be read in that time.
const answerTime = 10 * time.Second

// answer writes a whole answer, a large one in pieces. It is cut off when its reader
// takes less than Config.ReadRate: the memory that it needs is not for whoever does not
// read.
func (s *Server) answer(c echo.Context, contentType string, body []byte) error {
	piece := s.cfg.ReadRate * int(answerTime/time.Second)
	if len(body) <= min(largeAnswer, piece) {
		bound(c.Response())
		return c.Blob(http.StatusOK, contentType, body)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, contentType)
	h.Set(echo.HeaderContentLength, strconv.Itoa(len(body))) // what is cut off cannot be taken for whole
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
	_ = control.SetWriteDeadline(noDeadline) // a connection that is gone is noticed by its next use
	return nil
}
