package a2a_test

import (
	"testing"

	"a2a-server/a2a"
	"a2a-server/internal/keyring"
	"a2a-server/task/engine"
)

// offerPush makes a server that has push notifications of the two parts of its configuration.
func offerPush(t testing.TB, e *engine.Config, c *a2a.Config) {
	t.Helper()
	keys, err := keyring.Open(keyring.Config{Now: e.Now})
	if err != nil {
		t.Fatal(err)
	}
	e.Push, c.Push = keys.Sealer(keyring.PushSecrets), &a2a.Push{}
}

// secretWebhook returns a webhook of which somebody else may see nothing.
func secretWebhook(name string) *engine.PushConfig {
	return &engine.PushConfig{ID: "c", URL: "https://secret.example/" + name, Token: "secret token", Scheme: "Bearer", Credentials: "secret credentials", Version: "1.0"}
}
