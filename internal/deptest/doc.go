// Package deptest checks the code against the table in docs/design/imports.md: which package may
// import which other package of this module. It refuses imports for their side effects, too. Which
// library is imported where is checked by depguard (.golangci.yml).
//
// TestStyle counts vague pronouns in comments and pages, as docs/style.md limits them.
//
// The package owns the parsing of the table and the checks, and has only tests. The document is the
// single source: to change the design, change the document in the same commit as the code.
//
// _test.go files may import any package of this module. Nested modules and testdata folders are not
// checked.
package deptest
