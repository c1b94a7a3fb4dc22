package grpc

import (
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"a2a-server/a2a/internal/wire"
	"a2a-server/a2a/operation"
	v03 "a2a-server/a2a/v03"
)

// protocolV03 is A2A 0.3. It implements [protocol]: its messages are those of HTTP+JSON in
// 0.3, in protobuf.
type protocolV03 struct {
	old *operation.Legacy
	in  protoreflect.MessageDescriptor
	out *form
}

func (protocolV03) version() string { return wire.OldVersion }

func (p protocolV03) input(m message) (operation.Input, error) {
	req, err := v03.NewGRPCRequest(p.in)
	if err != nil {
		return operation.Input{}, err
	}
	if err := m.decode(req); err != nil {
		return operation.Input{}, err
	}
	raw, err := v03.GRPCRequest(req)
	if wrong, is := errors.AsType[*v03.Error](err); is {
		return operation.Input{}, wire.InvalidField(wrong.Field, wrong.Reason)
	}
	return operation.Input{JSON: raw}, err
}

func (p protocolV03) response(json []byte) (message, error) {
	json, err := p.old.Write(nil, json, v03.REST)
	if err != nil {
		return nil, err
	}
	return p.out.encode(json)
}

func (p protocolV03) event(json []byte) (message, error) {
	json, err := v03.AppendEvent(nil, json, v03.REST)
	if err != nil {
		return nil, err
	}
	return p.out.encode(json)
}

// registerOld adds the methods of A2A 0.3.
func (g *Server) registerOld() {
	service := v03.Service()
	desc := grpc.ServiceDesc{ServiceName: string(service.FullName()), Metadata: service.ParentFile().Path()}
	for i := range g.service.Table {
		op := &g.service.Table[i]
		old, method := op.Legacy, service.Methods().ByName(protoreflect.Name(v03.MethodName(op.Name)))
		if old == nil || method == nil {
			continue
		}
		own := *old
		if op.Name == "GetExtendedAgentCard" {
			own.Write = func(dst, card []byte, _ v03.Form) ([]byte, error) {
				card, err := v03.GRPCCard(card)
				return append(dst, card...), err
			}
		}
		as := protocolV03{old: &own, in: method.Input(), out: formOf(method.Output())}
		desc.Streams = append(desc.Streams, grpc.StreamDesc{
			StreamName: string(method.Name()), ServerStreams: op.Stream != nil,
			Handler: func(_ any, ss grpc.ServerStream) error { return g.serve(ss, op, as) },
		})
	}
	g.server.RegisterService(&desc, nil)
}
