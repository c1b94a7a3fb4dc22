// Package app is the program: its commands, its flags, what it does with signals and with
// the process as a whole. It does not know how a server is put together: that is package
// a2aserver's.
package app
