// Package deptest holds the code to the tables in docs/ARCHITECTURE.md: which
// package may import which, where a third-party library may be used, and what no
// package does (init functions, registration by blank import, reading the
// environment in the middle of the program).
//
// TestStyle finds, in everything that is tracked, the phrases that docs/style.md says
// not to write.
//
// It owns the reading of those tables and the check, and has tests only. The
// document is the single source: a design that changes is changed there, in the
// commit that changes the code. It does not know what any package is for.
//
// Test code - _test.go files, and packages whose row says "tests only" - may use
// any library, and _test.go files may import any package of ours. Nested modules
// and testdata folders are not looked at.
package deptest
