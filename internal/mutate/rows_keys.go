package main

// keyRows are of what the callers' keys and the server's own keys promise.
func keyRows() []Row {
	return []Row{
		{
			File:    "auth/apikey/apikey.go",
			What:    "subtle.ConstantTimeCompare(sum[:], e.hash[:]) == 1",
			Into:    "subtle.ConstantTimeCompare(sum[:1], sum[:1]) == 1",
			Promise: "an API key counts with its whole secret only",
			Test:    "TestRefused/another secret",
		},
		{
			File:    "auth/apikey/apikey.go",
			What:    "case !e.by.Expires.IsZero() && !a.cfg.Now().Before(e.by.Expires):",
			Into:    "case false:",
			Promise: "an API key ends when it expires",
			Test:    "TestAuthenticate",
		},
		{
			File:    "auth/apikey/apikey.go",
			What:    "!same || e.revoked:",
			Into:    "!same:",
			Promise: "an API key that was revoked is refused",
			Test:    "TestAuthenticate",
		},
		{
			File:    "auth/apikey/apikey.go",
			What:    "	keys, err := parseFile(a.cfg.File, text)\n	if err != nil {\n		return err\n	}\n",
			Into:    "	keys, _ := parseFile(a.cfg.File, text)\n",
			Promise: "a file of API keys that is not valid changes nothing",
			Test:    "TestReload",
		},
		{
			File:    "auth/apikey/apikey.go",
			What:    "close(before.changed)",
			Into:    "_ = before.changed",
			Promise: "who waits for it learns that API keys were replaced",
			Test:    "TestReload",
		},
		{
			File:    "auth/apikey/edit.go",
			What:    "		case !replace:\n",
			Into:    "		case false:\n",
			Promise: "nobody gets an id that has a key by accident",
			Test:    "TestAddAndRevoke",
		},
		{
			File:    "auth/apikey/edit.go",
			What:    "unlock, err := privatefile.Lock(filepath.Dir(path))",
			Into:    "unlock, err := func() {}, error(nil)",
			Promise: "programs that add and revoke API keys at the same time lose nothing",
			Test:    "TestManyAtOnce",
		},
		{
			File:    "internal/privatefile/privatefile.go",
			What:    "info.Mode().Perm()&tooOpen != 0",
			Into:    "false",
			Promise: "a file that others may change is not trusted",
			Package: "auth/apikey",
			Test:    "TestModeOfTheFile",
		},
		{
			File:    "internal/keyring/keyring.go",
			What:    "hmac.Equal(tag[idSize:], sum(nil, &keys[at], data)[:macSize])",
			Into:    "hmac.Equal(tag[idSize:idSize+4], sum(nil, &keys[at], data)[:4])",
			Promise: "every bit of a code is checked",
			Test:    "TestTag",
		},
		{
			File:    "internal/keyring/keyring.go",
			What:    "at < 0 || keys[at].ended(now)",
			Into:    "at < 0 || now.IsZero()",
			Promise: "what an old key has made is refused after a day",
			Test:    "TestRotate",
		},
		{
			File:    "internal/keyring/keyring.go",
			What:    "		return m.prune(now)\n",
			Into:    "		return nil\n",
			Promise: "a key that has ended is removed from the disk",
			Test:    "TestRotate",
		},
		{
			File:    "internal/keyring/file.go",
			What:    "f.Sum == \"\" || f.Sum != f.sum()",
			Into:    "false",
			Promise: "a damaged file of the server's own keys is noticed",
			Test:    "TestEveryChangedByte",
		},
		{
			File:    "task/engine/pagetokens.go",
			What:    "err != nil || !t.codes.Verify(t.data(token[tagText:]), tag)",
			Into:    "err != nil || len(tag) == 0",
			Promise: "only the server makes page tokens, and others are refused before anything is read",
			Test:    "TestForeignPageTokens",
		},
		{
			File:    "task/engine/pagetokens.go",
			What:    "[]string{list, by.Tenant, by.Subject}",
			Into:    "[]string{list}",
			Promise: "a page token is for the caller who got it",
			Test:    "TestForeignPageTokens",
		},
		{
			File:    "task/engine/approvals.go",
			What:    "tokens := a.e.tokens(by, \"approvals\", q.Task)",
			Into:    "tokens := a.e.tokens(by, \"tasks\")",
			Promise: "a page token is for the list that it was made for",
			Test:    "TestForeignPageTokens",
		},
	}
}
