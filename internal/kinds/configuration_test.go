//go:build unix

package kinds_test

import (
	"os"
	"path/filepath"
	"strings"
)

// configuration has the tools that are not written in Go, and gives those called …_soon a
// deadline.
const configuration = `
gates:
  - tool: "*_soon"
    expires: 30ms

tools:
  - command: command
    description: Pays.
    run: [/bin/sh, pay.sh, --, "{scene}", "{amount}"]
    args: ARGS
  - command: command_soon
    description: Pays.
    run: [/bin/sh, pay.sh, --, "{scene}", "{amount}"]
    args: ARGS

  - http: http
    description: Pays.
    request: POST REMOTE/pay
    body: {scene: "{scene}", amount: "{amount}"}
    args: ARGS
    networks: [127.0.0.1]
  - http: http_soon
    description: Pays.
    request: POST REMOTE/pay
    body: {scene: "{scene}", amount: "{amount}"}
    args: ARGS
    networks: [127.0.0.1]

  - openapi: openapi
    spec: pay.json
    server: REMOTE
    only: ["*"]
    networks: [127.0.0.1]

  - mcp: stdio
    command: [SELF]
    env: {KINDS_MCP: LEDGER}
    only: [pay, pay_soon]
  - mcp: web
    url: REMOTE/mcp
    only: [pay, pay_soon]
    networks: [127.0.0.1]
`

// document is the OpenAPI document of the remote server.
const document = `{
  "openapi": "3.0.3", "info": {"title": "Pay", "version": "1"},
  "paths": {
    "/pay": {"post": {"operationId": "pay", "requestBody": BODY, "responses": {"200": {"description": "paid"}}}},
    "/pay/soon": {"post": {"operationId": "pay_soon", "requestBody": BODY, "responses": {"200": {"description": "paid"}}}}
  }
}`

const requestBody = `{"required": true, "content": {"application/json": {"schema": {
  "type": "object", "required": ["scene", "amount"], "additionalProperties": false,
  "properties": {"scene": {"type": "string"}, "amount": {"type": "integer"}}
}}}}`

// payScript is what the command runs.
const payScript = `printf '%s %s\n' "$2" "$3" >>LEDGER && echo paid
`

// configure writes the files that a server needs.
func configure(c serverConfig) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fill := strings.NewReplacer("REMOTE", c.Remote, "SELF", self, "LEDGER", c.ledger(),
		"ARGS", "{scene: {type: string}, amount: {type: integer}}", "BODY", requestBody)
	for name, content := range map[string]string{"a2a-server.yaml": configuration, "pay.json": document, "pay.sh": payScript} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(fill.Replace(content)), 0o600); err != nil {
			return err
		}
	}
	return nil
}
