package main

// webhookRows are of which webhooks clients may set, what they see of them, and how the
// server recognizes itself to them.
func webhookRows() []Row {
	return []Row{
		{
			File:    "a2a/push.go",
			What:    "case u.User != nil:",
			Into:    "case false:",
			Promise: "no webhook has a user in its URL",
			Test:    "TestWebhook",
		},
		{
			File:    "a2a/push.go",
			What:    "if last := labels[len(labels)-1]; '0' <= last[0] && last[0] <= '9' {",
			Into:    "if last := labels[len(labels)-1]; last == \"\" {",
			Promise: "a host of a webhook that some read as an address is refused",
			Test:    "TestWebhook",
		},
		{
			File:    "a2a/push.go",
			What:    "func isHeaderChar(c byte) bool { return ' ' <= c && c <= '~' }",
			Into:    "func isHeaderChar(c byte) bool { return c <= '~' }",
			Promise: "no token of a webhook adds a header",
			Test:    "TestWebhook",
		},
		{
			File:    "a2a/push.go",
			What:    "return webhook{toClient(id, &set)}, nil",
			Into:    "return webhook{&sdk.PushConfig{TaskID: sdk.TaskID(id.String()), ID: set.ID, URL: set.URL, Token: set.Token}}, nil",
			Promise: "the secrets of a webhook are not given back",
			Test:    "TestWire/push-webhooks",
		},
		{
			File:    "push.go",
			What:    "return s.push.dialer.Check(host, port) != nil",
			Into:    "return host == port",
			Promise: "a webhook with an address that is forbidden is refused at once",
			Test:    "TestPushToAddressesThatAreForbidden",
		},
		{
			File:    "push.go",
			What:    "warn(c.Log, p.Warnings())",
			Into:    "_ = p.Warnings()",
			Promise: "the start warns of webhooks that may go anywhere",
			Test:    "TestPushAnywhere",
		},
		{
			File:    "push.go",
			What:    "MaxBytes: maxPushAnswer, Announced: true,",
			Into:    "MaxBytes: maxPushAnswer,",
			Promise: "a webhook that accepts has accepted, however long its answer is",
			Test:    "TestHostileWebhooks",
			Hangs:   true,
		},
		{
			File:    "push.go",
			What:    "Audience: n.URL,",
			Into:    "Audience: t.issuer,",
			Promise: "the token of a notification is for one webhook",
			Test:    "TestPushTokens",
		},
		{
			File:    "push.go",
			What:    "sum := t.now(), sha256.Sum256(n.Body)",
			Into:    "sum := t.now(), sha256.Sum256([]byte(n.URL))",
			Promise: "the token of a notification is for its body",
			Test:    "TestPushTokens",
		},
		{
			File:    "push_list.go",
			What:    "scope.Covers(one.Owner) && ",
			Into:    "!scope.IsZero() && ",
			Promise: "who lists webhooks sees those of their tenant",
			Test:    "TestPushListOfATenant",
		},
		{
			File:    "push_list.go",
			What:    "return cursor, c.codes.Verify([]byte(c.bound+cursor), raw[:keyring.TagSize])",
			Into:    "return cursor, c.bound != \"\"",
			Promise: "only the server makes the cursors of a list of webhooks",
			Test:    "TestPushListOfATenant",
		},
		{
			File:    "internal/egress/dial.go",
			What:    "		if err := d.check(host, addr, port); err != nil {\n			return nil, err\n		}\n",
			Into:    "		_ = addr\n",
			Promise: "what a name means is checked at each connection",
			Test:    "TestNameThatChanges",
		},
	}
}
