// Package rest serves the operations of A2A over HTTP+JSON (A2A 1.0 §11).
package rest
