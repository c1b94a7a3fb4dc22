package grpc

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// message is a message of gRPC as it is on the wire.
type message []byte

// codec encodes the messages of gRPC: messages of A2A are bytes, and the library encodes the messages of other
// services, such as health.
type codec struct{ encoding.CodecV2 }

// Marshal implements [encoding.CodecV2].
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, is := v.(*outgoing); is {
		return mem.BufferSlice{m.buffer()}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, is := v.(*message); is {
		*m = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}
