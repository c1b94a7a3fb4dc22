// Package deptest checks the code against the tables in docs/design/imports.md: the imports
// that each package may have, the places where a third-party library may be used, and
// practices that every package avoids (init functions, registration by blank import, reading
// the environment in the middle of the program).
//
// TestCeilings measures how each package is divided, by types: the largest knot of definitions that
// reach each other, recursion, methods of a type and their files, and files of the package.
//
// TestStyle searches all tracked files for the phrases in the table of docs/style.md.
//
// The package owns the parsing of these tables and the checks, and has only tests. The
// document is the single source: to change the design, change the document in the same commit
// as the code. The package knows no other package.
//
// Test code - _test.go files, and packages whose row says "tests only" - may use any library,
// and _test.go files may import any package of this module. Nested modules and testdata
// folders are not checked.
package deptest
