package httpd

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// AnswerTime is the time that a client has to read a piece of an answer. A piece holds the
// bytes that Config.ReadRate gives for that time.
const AnswerTime = 10 * time.Second

// LargeAnswer is the length from which an answer is written in pieces.
const LargeAnswer = 64 << 10

// buffered is the length from which net/http may send an answer before its handler returns.
// Shorter answers are sent with the deadline that [Finish] sets.
const buffered = 2 << 10

// Answer writes a whole answer; a large answer in pieces. It stops if the client reads more
// slowly than Config.ReadRate, so that slow clients do not hold memory.
func (f *Frontend) Answer(w http.ResponseWriter, status int, contentType string, body []byte) error {
	if len(body) <= min(LargeAnswer, f.piece()) {
		if len(body) >= buffered {
			Bound(w)
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, err := w.Write(body)
		return err
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body))) // so that a truncated answer is not mistaken for a whole answer
	w.WriteHeader(status)
	return f.Continue(w, body)
}

// piece returns the length of a piece, in bytes.
func (f *Frontend) piece() int { return f.cfg.ReadRate * int(AnswerTime/time.Second) }

// Continue writes the rest of an answer whose header has been written, in pieces, and flushes it. It
// stops as [Frontend.Answer] does; without a Content-Length the caller then has to abort the
// connection.
func (f *Frontend) Continue(w http.ResponseWriter, body []byte) error {
	control := http.NewResponseController(w)
	for len(body) > 0 {
		n := min(f.piece(), len(body))
		if err := control.SetWriteDeadline(time.Now().Add(AnswerTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
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
	_ = control.SetWriteDeadline(time.Time{}) // the next use reports a connection that is gone
	return nil
}
