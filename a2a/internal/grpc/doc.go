// Package grpc serves the operations of A2A over gRPC (A2A 1.0 §10), with health and
// reflection beside them.
package grpc
