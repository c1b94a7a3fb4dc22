// Package peer authenticates callers on a Unix socket by the user id that the kernel reports
// (SO_PEERCRED). It does not know what the socket serves.
//
// A program that serves A2A on a socket gives [WithConn] to its HTTP server, and an
// [Authenticator] to ours:
//
//	users, err := peer.New(peer.User{UID: 1000, Name: "alice", Roles: []string{auth.RoleRequester}})
//	server, err := a2aserver.New(a2aserver.Config{Authenticator: users, NoListen: true})
//	web := &http.Server{Handler: server.Handler(), ConnContext: peer.WithConn}
//
// Every process that may connect to the socket reaches the Authenticator, so the mode of the
// socket and its folder are only a first door. The kernel reports the user that connected: a
// process that is handed the connection acts as that user.
package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"a2a-server/auth"
)

// Method is the Method of principals of this package, and with a colon the beginning of
// their subjects.
const Method = "socket"

// Setting is the key of the configuration that lists users, for messages.
const Setting = "auth.socket"

// unknown are the ids that the kernel gives for users that it cannot name: the overflow id,
// for a user of another user namespace, and none at all.
var unknown = []uint32{65534, 1<<32 - 1}

// User maps a user of this machine to a caller.
type User struct {
	UID    uint32
	Name   string // the subject is "socket:" and this name
	Person string // see [auth.Principal]
	Tenant string
	Roles  []string
	Mark   string // see [auth.Principal]
}

// Authenticator knows the callers of Unix sockets. It is safe for concurrent use.
type Authenticator struct{ users map[uint32]auth.Principal }

// New returns an Authenticator that knows users. A duplicate id is an error, and so is an id
// that the kernel gives for unknown users.
func New(users ...User) (*Authenticator, error) {
	a := &Authenticator{users: map[uint32]auth.Principal{}}
	for i := range users {
		u := &users[i]
		p := auth.Principal{
			Tenant: u.Tenant, Subject: Method + ":" + u.Name, Person: u.Person, Roles: slices.Clone(u.Roles), Method: Method, Mark: u.Mark,
		}
		_, twice := a.users[u.UID]
		switch err := p.Validate(); {
		case u.Name == "":
			return nil, fmt.Errorf("the user with the uid %d has no name: add a name", u.UID)
		case twice:
			return nil, fmt.Errorf("two users have the uid %d: remove one of them", u.UID)
		case slices.Contains(unknown, u.UID):
			return nil, fmt.Errorf("the uid %d is the kernel's id for all users that it cannot name, so it identifies no user: use another user", u.UID)
		case err != nil:
			return nil, err
		}
		a.users[u.UID] = p
	}
	return a, nil
}

// Authenticate implements [auth.Authenticator]: [auth.ErrNone] for a connection that is no
// Unix socket or was not seen by [WithConn], an [*auth.Error] with the uid for an unknown
// user.
func (a *Authenticator) Authenticate(ctx context.Context, _ *auth.Credentials) (auth.Principal, error) {
	who, ok := ctx.Value(key{}).(credentials)
	switch {
	case !ok:
		return auth.Principal{}, auth.ErrNone
	case who.err != nil:
		return auth.Principal{}, fmt.Errorf("get the user of the connection from the kernel: %w", who.err)
	case slices.Contains(unknown, who.uid):
		return auth.Principal{}, refusal("the kernel cannot name the connected user, who may be in another user namespace: connect as a user of the server's namespace")
	}
	p, ok := a.users[who.uid]
	if !ok {
		return auth.Principal{}, refusal(fmt.Sprintf("the user with the uid %d is not in %s: ask the operator of the server to add the user there, with a subject and roles", who.uid, Setting))
	}
	p.Roles = slices.Clone(p.Roles)
	return p, nil
}

// Challenges implements [auth.Challenger]: there is nothing that a caller could send.
func (*Authenticator) Challenges() []string { return []string{scheme} }

const scheme = "Peer"

func refusal(why string) error {
	return &auth.Error{Scheme: scheme, Code: "invalid_token", Description: why}
}

// credentials are the kernel's answer about the user that connected.
type credentials struct {
	uid uint32
	err error
}

type key struct{}

// WithConn returns a context with the credentials of the user that connected, for ConnContext
// of an [http.Server]. For a connection that is no Unix socket, it returns ctx.
//
// [http.Server]: https://pkg.go.dev/net/http#Server
func WithConn(ctx context.Context, c net.Conn) context.Context {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	uid, err := uidOf(socket)
	return context.WithValue(ctx, key{}, credentials{uid, err})
}

// ErrUnsupported means that this system does not report the user of a connection.
var ErrUnsupported = errors.New("this system does not report the user of a Unix socket connection: use Linux")
