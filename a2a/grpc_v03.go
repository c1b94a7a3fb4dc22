package a2a

import (
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	v03 "a2a-server/a2a/v03"
)

// protocolV03 is A2A 0.3. It implements [protocol]: its messages are those of HTTP+JSON in
// 0.3, in protobuf.
type protocolV03 struct {
	old *legacy
	in  protoreflect.MessageDescriptor
	out *form
}

func (protocolV03) version() string { return oldVersion }

func (p protocolV03) input(m message) (input, error) {
	req, err := v03.NewGRPCRequest(p.in)
	if err != nil {
		return input{}, err
	}
	if err := m.decode(req); err != nil {
		return input{}, err
	}
	raw, err := v03.GRPCRequest(req)
	if wrong, is := errors.AsType[*v03.Error](err); is {
		return input{}, invalidField(wrong.Field, wrong.Reason)
	}
	return input{json: raw}, err
}

func (p protocolV03) answer(json []byte) (message, error) {
	json, err := p.old.write(nil, json, v03.REST)
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
func (g *GRPC) registerOld() {
	service := v03.Service()
	desc := grpc.ServiceDesc{ServiceName: string(service.FullName()), Metadata: service.ParentFile().Path()}
	for i := range g.service.table {
		op := &g.service.table[i]
		old, method := op.legacy, service.Methods().ByName(protoreflect.Name(v03.MethodName(op.name)))
		if old == nil || method == nil {
			continue
		}
		own := *old
		if op.name == "GetExtendedAgentCard" {
			own.write = func(dst, card []byte, _ v03.Form) ([]byte, error) {
				card, err := v03.GRPCCard(card)
				return append(dst, card...), err
			}
		}
		as := protocolV03{old: &own, in: method.Input(), out: formOf(method.Output())}
		desc.Streams = append(desc.Streams, grpc.StreamDesc{
			StreamName: string(method.Name()), ServerStreams: op.stream != nil,
			Handler: func(_ any, ss grpc.ServerStream) error { return g.serve(ss, op, as) },
		})
	}
	g.rpc.RegisterService(&desc, nil)
}
