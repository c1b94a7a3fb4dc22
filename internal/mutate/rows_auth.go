package main

// authRows change who may do what, and who counts as whom.
func authRows() []Row {
	return []Row{
		{
			File:    "auth/auth.go",
			What:    "return append([]string{p.Subject, p.person()}, p.Chain...)",
			Into:    "return []string{p.Subject, p.person()}",
			Promise: "four eyes: who acts for somebody is counted",
			Test:    "TestShares",
		},
		{
			File:    "auth/auth.go",
			What:    "[]string{p.Subject, p.person()}",
			Into:    "[]string{p.Subject}",
			Promise: "four eyes: a key and a login of one person are one",
			Test:    "TestShares",
		},
		{
			File:    "auth/auth.go",
			What:    "[]string{p.Subject, p.person()}",
			Into:    "[]string{p.person()}",
			Promise: "four eyes: the subject of a person with another name is counted",
			Test:    "TestShares",
		},
		{
			File:    "auth/auth.go",
			What:    "p.Kind == KindPerson && len(p.Chain) == 0",
			Into:    "p.Kind == KindPerson",
			Promise: "who is represented by an agent does not act directly",
			Test:    "TestDirect",
		},
		{
			File:    "auth/auth.go",
			What:    "p.Subject == anonymous && p.Method != methodNone:",
			Into:    "false:",
			Promise: "nobody is authenticated as the owner of what was made without authentication",
			Test:    "TestValidate",
		},
		{
			File:    "auth/action.go",
			What:    `p.Tenant != "" && p.reaches(a) == tenant`,
			Into:    `p.reaches(a) == tenant`,
			Promise: "without a tenant, nobody reaches what others own",
			Test:    "TestMay",
		},
		{
			File:    "auth/action.go",
			What:    "if p.IsAnonymous() {",
			Into:    "if false {",
			Promise: "without authentication a caller is a requester, whatever else it is given",
			Test:    "TestMay",
		},
		{
			File:    "auth/first.go",
			What:    "return Principal{}, ErrTwo",
			Into:    "return found, nil",
			Promise: "two credentials in one request are refused",
			Test:    "TestFirst",
		},
		{
			File:    "auth/first.go",
			What:    "case err != nil:\n\t\t\treturn Principal{}, err",
			Into:    "case err != nil:",
			Promise: "a wrong credential is not made good by another",
			Test:    "TestFirst",
		},
	}
}
