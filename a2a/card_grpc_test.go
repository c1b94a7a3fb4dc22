package a2a_test

import (
	"context"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"a2a-server/a2a"
	"a2a-server/a2a/agentcard"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// A card that names no URL of its own has, over gRPC, that of the port of HTTP, by the name
// or address by which the caller reaches this machine. Its scopes are in the one form that
// protobuf has.
func TestExtendedCardOverGRPC(t *testing.T) {
	t.Parallel()
	w := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) {
		c.Card.URL, c.Guard.Hosts = "", []string{"agent.example"}
		c.Authenticator = auth.Func(callerOf)
		c.Card.Security, c.Card.SecurityForm = everyScheme(), agentcard.SecurityGo
		c.SkillsOf = func(context.Context, auth.Principal) ([]agentcard.Skill, error) {
			return []agentcard.Skill{{ID: "x"}}, nil
		}
	})
	for name, c := range map[string]struct{ http, authority, want string }{
		"one address":      {"192.0.2.7:8080", "", "http://192.0.2.7:8080"},
		"every address":    {"0.0.0.0:8080", "", "http://127.0.0.1:8080"},
		"every address, 6": {"[::]:8080", "", "http://127.0.0.1:8080"},
		"a name":           {"0.0.0.0:8080", "agent.example:9", "http://agent.example:8080"},
		"another name":     {"0.0.0.0:8080", "other.example:9", "http://127.0.0.1:8080"},
		"unknown":          {"", "", "http://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, at := serveGRPC(t, w.handler, a2a.GRPCConfig{HTTP: c.http})
			if c.want == "http://" {
				c.want += at
			}
			var options []grpc.DialOption
			if c.authority != "" {
				options = append(options, grpc.WithAuthority(c.authority))
			}
			card, err := a2apb.NewA2AServiceClient(dialGRPC(t, at, options...)).GetExtendedAgentCard(metadata.AppendToOutgoingContext(t.Context(), "x-who", "acme|me|requester"), &a2apb.GetExtendedAgentCardRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range card.GetSupportedInterfaces() {
				if i.GetUrl() != c.want {
					t.Errorf("%s is at %s, want %s", i.GetProtocolBinding(), i.GetUrl(), c.want)
				}
			}
			if needs := card.GetSecurityRequirements(); len(needs) == 0 || len(needs[0].GetSchemes()) == 0 {
				t.Errorf("the card has no security requirements: %v", card)
			}
		})
	}
}
