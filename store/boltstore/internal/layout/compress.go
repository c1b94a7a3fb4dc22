package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"a2a-server/store"
)

// The sizes that are compressed, of a row's value and of a log value after its head. Smaller
// values hardly shrink, and larger values would keep the writer too long.
const (
	minCompressed = 512
	MaxCompressed = 1 << 20
)

// Compressor compresses values, one at a time.
type Compressor struct{ zstd *zstd.Encoder }

// NewCompressor returns the compressor of a writer.
func NewCompressor() (*Compressor, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(MaxCompressed))
	if err != nil {
		return nil, err
	}
	return &Compressor{encoder}, nil
}

// decompressor serves all readers, as many at a time as there are processors. It is made when
// the program starts: a channel in it must not belong to the testing/synctest bubble that
// happens to read first.
var decompressor, errDecompressor = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))

// Compress appends the compressed body to b, for expand. It appends nothing unless that saves
// an eighth.
func (c *Compressor) Compress(b, body []byte) (compressed []byte, ok bool) {
	if len(body) < minCompressed || len(body) > MaxCompressed {
		return b, false
	}
	start := len(b)
	b = c.zstd.EncodeAll(body, binary.AppendUvarint(b, uint64(len(body))))
	if len(b)-start > len(body)-len(body)/8 {
		return b[:start], false
	}
	return b, true
}

// Expand decompresses the rest of a value.
func (r *Reader) Expand() {
	size := r.Uint()
	if r.Err != nil {
		return
	}
	body, err := []byte(nil), errDecompressor
	if err == nil && size <= MaxCompressed {
		body, err = decompressor.DecodeAll(r.b, make([]byte, 0, size))
	}
	if err == nil && uint64(len(body)) != size {
		err = fmt.Errorf("it has %d bytes and not %d", len(body), size)
	}
	if r.b = body; err != nil {
		r.b, r.Err = nil, fmt.Errorf("%w: it cannot be decompressed: %w", store.ErrDataLoss, err)
	}
}
