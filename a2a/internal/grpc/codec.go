package grpc

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// message is a message of gRPC as it is on the wire.
type message []byte

// codec encodes the messages of gRPC: those of A2A are bytes, those of other services, such as
// health, have the types of their service. It implements [encoding.CodecV2].
type codec struct{}

// Name implements [encoding.CodecV2].
func (codec) Name() string { return "proto" }

// Marshal implements [encoding.CodecV2].
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case message:
		return mem.BufferSlice{mem.SliceBuffer(m)}, nil
	case *outgoing:
		return mem.BufferSlice{m.buffer()}, nil
	case proto.Message:
		b, err := proto.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("encode %T: %w", v, err)
		}
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return nil, fmt.Errorf("encode %T: it is no message", v)
}

// Unmarshal implements [encoding.CodecV2].
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *message:
		*m = data.Materialize()
		return nil
	case proto.Message:
		return proto.Unmarshal(data.Materialize(), m)
	}
	return fmt.Errorf("decode %T: it is no message", v)
}
