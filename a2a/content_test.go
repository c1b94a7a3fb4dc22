package a2a_test

import (
	"context"
	"errors"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/auth"
)

// A file without an address is no content: the SDK encodes it as a part that nobody can
// decode, and with it its task, and every list of it. The wire cases have the bindings.
func TestAPartWithAnEmptyAddress(t *testing.T) {
	t.Parallel()
	h := startWireServer(t, zerolog.Nop()).handler.RequestHandler(func(context.Context) (auth.Principal, error) { return auth.Anonymous(), nil })
	m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("/echo text=x"), &sdk.Part{Content: sdk.URL("")})
	if got, err := h.SendMessage(t.Context(), &sdk.SendMessageRequest{Message: m}); !errors.Is(err, sdk.ErrInvalidParams) {
		t.Errorf("SendMessage = %+v, %v, want %v", got, err, sdk.ErrInvalidParams)
	}
}
