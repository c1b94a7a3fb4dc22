package grpc

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
)

// method is an operation in the gRPC service of a version of A2A.
type method struct {
	op      *operation.Operation
	old     bool                                                      // of 0.3, whose messages are those of HTTP+JSON in 0.3
	write   func(dst, response []byte, form v03.Form) ([]byte, error) // of 0.3
	in, out protoreflect.MessageType
}

// version returns the version of the service, as Major.Minor.
func (m *method) version() string {
	if m.old {
		return wire.OldVersion
	}
	return wire.Version
}

// input returns the request in a message, in the JSON of its version.
func (m *method) input(sent message) (in operation.Input, err error) {
	raw, err := sent.json(m.in.New().Interface())
	if err != nil {
		return in, err
	}
	if m.old {
		in.JSON, err = operation.Check(raw)
	} else {
		err = in.ReadBody(raw, m.op)
	}
	return in, err
}

// message returns the message of a response, or of an event, that old writes in the JSON of 0.3.
func (m *method) message(json []byte, old func(dst, json []byte, form v03.Form) ([]byte, error)) (_ message, err error) {
	if m.old {
		if json, err = old(nil, json, v03.REST); err != nil {
			return nil, err
		}
	}
	return encode(json, m.out)
}

// register adds the service of a version, with the operations of the table that it has.
func (g *Server) register(service protoreflect.ServiceDescriptor, old bool) {
	desc := grpc.ServiceDesc{ServiceName: string(service.FullName()), Metadata: service.ParentFile().Path()}
	for _, op := range g.service.Table {
		name, m := op.Name, &method{op: &op, old: old}
		if old && op.Legacy == nil {
			continue
		}
		if old {
			legacy := *op.Legacy
			legacy.Read = v03.GRPCRequest(op.Name)
			name, op.Legacy, m.write = v03.MethodName(op.Name), &legacy, legacy.Write
		}
		d := service.Methods().ByName(protoreflect.Name(name))
		if d == nil {
			panic("the operation " + op.Name + " is no method of " + desc.ServiceName + ": name it as there, or take the version of the SDK that has it")
		}
		m.in, m.out = typeOf(d.Input()), typeOf(d.Output())
		desc.Streams = append(desc.Streams, grpc.StreamDesc{
			StreamName: name, ServerStreams: op.Stream != nil,
			Handler: func(_ any, ss grpc.ServerStream) error { return g.serve(ss, m) },
		})
	}
	g.server.RegisterService(&desc, nil)
}

// typeOf returns the type of a message of the SDK, which registers the types of its services.
func typeOf(d protoreflect.MessageDescriptor) protoreflect.MessageType {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err)
	}
	return t
}
