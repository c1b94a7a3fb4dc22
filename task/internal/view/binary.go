package view

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// viewVersion is the first byte of a View's binary form.
const viewVersion = 1

// The flags of a View's binary form.
const (
	viewBegun byte = 1 << iota
	viewRepeats
)

// artifactsVersion is the first byte of the binary form of artifacts.
const artifactsVersion = 1

// AppendBinary appends the View's binary form without its artifacts, which Decode
// reads.
func (v *View) AppendBinary(dst []byte) []byte {
	flags := byte(0)
	if v.begun {
		flags |= viewBegun
	}
	if v.repeats {
		flags |= viewRepeats
	}
	masked, all := []byte(nil), uint64(0)
	for i, m := range append(slices.Clip(v.history), v.message) {
		if m.masked != nil {
			all++
			masked = appendBlock(binary.AppendUvarint(masked, uint64(i)), m.masked)
		}
	}
	dst = append(dst, viewVersion, flags)
	dst = appendBlock(dst, v.ids.Task)
	dst = appendBlock(dst, v.ids.Context)
	dst = appendBlock(dst, v.state)
	dst = binary.AppendVarint(dst, int64(v.at))
	dst = appendBlock(dst, v.message.whole)
	dst = binary.AppendVarint(dst, int64(v.messageAt))
	dst = appendBlock(dst, v.baseMetadata)
	dst = appendBlock(dst, v.statusMetadata)
	dst = binary.AppendUvarint(dst, uint64(len(v.history)))
	for _, m := range v.history {
		dst = appendBlock(dst, m.whole)
	}
	return append(binary.AppendUvarint(dst, all), masked...)
}

// AppendArtifacts appends the binary form of the View's artifacts, which
// DecodeArtifacts reads.
func (v *View) AppendArtifacts(dst []byte) []byte {
	dst = append(dst, artifactsVersion)
	dst = binary.AppendUvarint(dst, uint64(len(v.artifacts)))
	for i := range v.artifacts {
		a := &v.artifacts[i]
		dst = appendBlock(dst, a.id)
		dst = appendBlock(dst, a.name)
		dst = appendBlock(dst, a.description)
		dst = appendBlock(dst, a.extensions)
		dst = appendBlock(dst, a.metadata)
		dst = appendBlock(dst, a.parts)
	}
	return dst
}

// appendBlock appends b and, before it, its length.
func appendBlock[T ~string | ~[]byte](dst []byte, b T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// Decode decodes the result of AppendBinary. The View keeps slices of b, which must not be
// changed afterwards; it never writes to them. The JSON in b is not checked.
func Decode(b []byte) (*View, error) {
	if len(b) < 2 {
		return nil, errDamagedSnapshot
	}
	if b[0] != viewVersion {
		return nil, fmt.Errorf("read a task's snapshot: its version is %d, this program knows %d: run the program that wrote it, or a newer one", b[0], viewVersion)
	}
	flags, r := b[1], viewReader{rest: b[2:]}
	v := New(string(r.block()), string(r.block()))
	v.begun = flags&viewBegun != 0
	v.state = a2a.TaskState(r.block())
	v.at = store.Millis(r.varint())
	if text := r.block(); len(text) > 0 {
		v.message.whole = text
		v.size += v.message.size()
	}
	messageAt := r.varint() // set at the end: adding to the history moves it
	v.baseMetadata = r.block()
	v.size += len(v.baseMetadata)
	v.setStatusMetadata(r.block())
	for n := r.count(maxHistory); n > 0 && !r.bad; n-- {
		text := r.block()
		r.bad = r.bad || len(text) == 0
		v.insertMessage(len(v.history), message{whole: text})
	}
	r.masked(v)
	if r.bad || len(r.rest) > 0 || flags&^(viewBegun|viewRepeats) != 0 || messageAt > int64(len(v.history)) || messageAt < -1 {
		return nil, errDamagedSnapshot
	}
	v.messageAt, v.repeats = int(messageAt), flags&viewRepeats != 0
	return v, nil
}

var errDamagedSnapshot = errors.New("read a task's snapshot: it is damaged: check the store's file, and restore it from a backup")

// DecodeArtifacts reads all of b, which AppendArtifacts wrote, into v, which must have no
// artifacts. v keeps slices of b, as with Decode.
func (v *View) DecodeArtifacts(b []byte) error {
	if len(b) == 0 || b[0] != artifactsVersion {
		return fmt.Errorf("read the artifacts of a task's snapshot: they are not of version %d, which this program knows: run the program that wrote them, or a newer one", artifactsVersion)
	}
	r := viewReader{rest: b[1:]}
	r.artifacts(v)
	if r.bad || len(r.rest) > 0 {
		return errDamagedSnapshot
	}
	return nil
}

// masked reads the masked forms of messages into v. The current status's message is the last.
func (r *viewReader) masked(v *View) {
	for n := r.count(len(v.history) + 1); n > 0 && !r.bad; n-- {
		i, text := r.count(len(v.history)), r.block()
		m := &v.message
		if i < len(v.history) {
			m = &v.history[i]
		}
		r.bad = r.bad || len(text) == 0 || m.whole == nil || m.masked != nil
		m.masked = text
		v.size += len(text)
	}
}

// artifacts reads artifacts into v.
func (r *viewReader) artifacts(v *View) {
	for n := r.count(len(r.rest)); n > 0 && !r.bad; n-- {
		id := string(r.block())
		if _, known := v.artifact(id); known {
			r.bad = true
			break
		}
		i := v.newArtifact(id)
		a := &v.artifacts[i]
		v.size -= a.size()
		a.name, a.description = string(r.block()), string(r.block())
		a.extensions, a.metadata = r.block(), r.block()
		a.parts = r.block()
		v.size += a.size()
	}
}

// viewReader reads the binary form. After something that it cannot read it is bad, and
// everything that it returns is empty.
type viewReader struct {
	rest []byte
	bad  bool
}

func (r *viewReader) varint() int64 {
	n, size := binary.Varint(r.rest)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count reads a number that is at most limit.
func (r *viewReader) count(limit int) int {
	n, size := binary.Uvarint(r.rest)
	if r.bad || size <= 0 || n > uint64(limit) {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

// block reads the bytes written by appendBlock; nil for an empty block. Its capacity ends with
// it, so that appending to it makes a copy.
func (r *viewReader) block() []byte {
	n := r.count(len(r.rest))
	if n > len(r.rest) { // the count itself has taken some of it
		r.bad = true
	}
	if r.bad || n == 0 {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
