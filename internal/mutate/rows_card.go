package main

// cardRows are of what tenants, extensions and signed cards promise.
func cardRows() []Row {
	return []Row{
		{
			File:    "a2a/tenant.go",
			What:    "!s.inPath(tenant) || tenant != by.Tenant",
			Into:    "!s.inPath(tenant)",
			Promise: "a path can name no tenant but its caller's",
			Test:    "TestTenantPrefix",
		},
		{
			File:    "a2a/decode.go",
			What:    "return checkTenant(by, in.tenant, req)",
			Into:    "return nil",
			Promise: "a request can name no tenant but its caller's",
			Test:    "TestTenantOfARequest",
		},
		{
			File:    "a2a/jsonrpc.go",
			What:    "err = s.extensions.check(active)",
			Into:    "_ = s.extensions.check(active)",
			Promise: "a required extension is required in JSON-RPC",
			Test:    "TestRequiredExtension",
		},
		{
			File:    "a2a/jsonrpc.go",
			What:    "err = s.extensions.check(active)",
			Into:    "if err = s.extensions.check(active); m.old {\n\t\t\terr = nil\n\t\t}",
			Promise: "a required extension is required in JSON-RPC of 0.3",
			Test:    "TestRequiredExtensionOf03",
		},
		{
			File:    "a2a/rest.go",
			What:    "s.extensions.check(active); err != nil {",
			Into:    "s.extensions.check(active); err != nil && v.old != nil {",
			Promise: "a required extension is required in HTTP+JSON",
			Test:    "TestRequiredExtension",
		},
		{
			File:    "a2a/rest.go",
			What:    "s.extensions.check(active); err != nil {",
			Into:    "s.extensions.check(active); err != nil && v.old == nil {",
			Promise: "a required extension is required in HTTP+JSON of 0.3",
			Test:    "TestRequiredExtensionOf03",
		},
		{
			File:    "a2a/handler.go",
			What:    "err = h.s.extensions.check(h.activate(ctx))",
			Into:    "_ = h.s.extensions.check(h.activate(ctx))",
			Promise: "a required extension is required by the SDK's handlers",
			Test:    "TestRequiredExtensionOfTheSDK",
		},
		{
			File:    "a2a/grpc_call.go",
			What:    "g.s.extensions.check(c.active)",
			Into:    "error(nil)",
			Promise: "a required extension is required over gRPC, too",
			Test:    "TestGRPCExtensions",
		},
		{
			File:    "a2a/card_sign.go",
			What:    "withoutEmpty(known)",
			Into:    "known",
			Promise: "a signed card is verified by the SDKs",
			Test:    "TestSignedCards",
		},
		{
			File:    "internal/keyring/signer.go",
			What:    "jwk.Public())",
			Into:    "jwk)",
			Promise: "only public keys are published",
			Test:    "TestKeySet",
		},
	}
}
