// Package app is the program: its commands, the server that it runs, and conversations with agents
// and tools. It does not know how a server is put together; package a2aserver does. Commands that
// only need a running server or a file are in the packages below.
package app
