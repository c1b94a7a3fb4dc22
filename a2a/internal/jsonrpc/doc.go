// Package jsonrpc serves the operations of A2A over JSON-RPC 2.0 (A2A 1.0 §9).
package jsonrpc
