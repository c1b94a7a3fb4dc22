// Package bench measures the server as its clients see it: over HTTP, compared with the
// SDK's own stack and a bare echo handler, in the same run on the same machine. It has
// only tests. The ratio between the three counts; an absolute figure holds only
// for the machine it was measured on. Nothing here asserts a figure: wrong or missing
// answers fail, slow answers are reported.
//
//	go test -run '^$' -bench . ./internal/bench
//
// Each server runs in its own process - the test binary started again, see spec - so
// that its CPU time and memory are separate from the load generator's. The generator
// writes and reads HTTP/1.1 itself, in the same way for all three. At the end the run
// prints its figures as a table for docs/benchmarks.md.
//
// The servers:
//
//   - ours: a2a on task on boltstore, in a new file, with every commit synced; in a single
//     case on memstore;
//   - peer: the SDK's handler with its in-memory store, in front of an agent that
//     publishes the same events;
//   - echo: a handler that decodes the request and answers a made-up task of the same
//     size, or frames of the same size, and does nothing else. It shows the cost of HTTP and
//     JSON alone.
//
// Environment:
//
//	BENCH_DIR      folder for the files, on the disk to be measured (default: the system's for temporary files)
//	BENCH_ROUNDS   how often each case is measured, the servers in turn (default 1); the tables have medians
//	BENCH_GOGC     GOGC of our server (default: the program's value, 400)
//	BENCH_PROFILE  folder for CPU profiles of our server, a file for each benchmark
//	BENCH_PARKED   how many tasks are parked (default 1,000,000, or as many as can be written in 5 minutes)
package bench
