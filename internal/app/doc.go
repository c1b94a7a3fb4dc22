// Package app is the program: its commands and flags, and how it handles signals and the
// process as a whole. It does not know how a server is put together; package a2aserver
// does.
package app
